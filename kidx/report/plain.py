"""Text from outside (file names, topics, keys), made safe for one line of a terminal."""


def plain(text: str) -> str:
    r"""`text` with what no printer prints as escapes: controls as \x1b, line breaks as \n, undecodable bytes as \udcff.

    A file's name can hold anything but a slash, and must neither break a line nor drive the reader's terminal.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
