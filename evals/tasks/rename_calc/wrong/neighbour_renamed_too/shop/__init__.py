from shop.prices import order_total_shipping, order_total
from shop.report import summary

__all__ = ["order_total_shipping", "order_total", "summary"]
