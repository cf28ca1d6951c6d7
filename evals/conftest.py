"""The tests inside the tasks belong to the agents; none of them is a test of this project."""

collect_ignore = ["tasks"]
