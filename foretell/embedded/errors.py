class EmbeddedError(RuntimeError):
    """An embedded server isn't available or doesn't start; the message says what to do."""
