"""A small Prolific on this machine, for the demo and the tests: it speaks Prolific's protocol and costs nothing."""
