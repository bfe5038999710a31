"""How people train a model beside its loop: optimisers, precision, checkpointing, adapters. All of it is really run."""
