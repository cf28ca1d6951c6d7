from shop.orders import Order, describe
from shop.customers import Customer, greet

__all__ = ["Customer", "Order", "describe", "greet"]
