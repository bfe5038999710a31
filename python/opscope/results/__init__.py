"""What a capture answers: the profile, its rows, its reports and pictures."""
