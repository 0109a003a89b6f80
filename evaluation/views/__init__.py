"""What researchers see of results: reports of a study, and their parts."""
