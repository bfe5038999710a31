"""`python -m opscope.capture REQUEST`: see worker.py. Imported, it is the function opscope.capture."""

import sys

if __name__ == "__main__":
    from opscope.worker import main

    sys.exit(main(sys.argv[1:]))

# A submodule becomes an attribute of its package and would hide the function of the same name.
from opscope.api import capture

sys.modules[__name__] = capture  # type: ignore[assignment]
