"""A provider that needs no key: it speaks the OpenAI protocol over HTTP and answers by simple rules.

It ships for the demo and the tests. What it says is a fixed function of what it is asked, neither perfect nor
random, and it can be told to fail in every way that a real provider fails (see ``options``).
"""
