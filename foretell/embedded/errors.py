class EmbeddedError(RuntimeError):
    """An embedded server cannot be had or does not start; the message says what to do."""
