"""What the shop sells."""

from dataclasses import dataclass


@dataclass
class Item:
    sku: str
    name: str
    quantity: int
    cents: int
    reorder_at: int
    """The quantity at which more should be ordered."""

    @property
    def value(self) -> int:
        """What the pieces in stock are worth, in cents."""
        return self.quantity * self.cents
