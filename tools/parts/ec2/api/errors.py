"""Refusals as EC2 words them."""


class AwsError(Exception):
    """A call refused: the code, the sentence, and the HTTP status that carries them."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


class Unreasonable(Exception):
    """A control request that cannot be meant; the message says what would be right."""
