def show(book):
    """一行文字，例如《围城》钱锺书（1947）"""
    year = f"（{book.year}）" if book.year else ""
    return f"《{book.title}》{book.author}{year}"
