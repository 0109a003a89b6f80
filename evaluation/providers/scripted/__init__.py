"""A provider that needs no key: it speaks the OpenAI protocol over HTTP and answers by simple rules. It ships for the
demo and the tests. Its answers are a fixed function of the questions, neither perfect nor random, and it can be made to
fail as real providers do (see ``options``).
"""
