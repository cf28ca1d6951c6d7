from shop.orders import describe
from shop.customers import Customer, Order, greet

__all__ = ["Customer", "Order", "describe", "greet"]
