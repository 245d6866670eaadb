"""The text of a PDF that Chromium printed, in the order in which it was drawn."""

import re
import unicodedata
import zlib

STREAM = re.compile(rb"stream\n(.*?)\nendstream", re.DOTALL)  # whose last byte may be \r


def pdf_text(data: bytes) -> str:
    """All text without its spaces, ligatures as the letters that they are made of."""
    found = re.finditer(rb"(?<!\d)(\d+) 0 obj\b(.*?)\bendobj", data, re.DOTALL)
    objects = {int(one[1]): one[2] for one in found}
    pages = [one for one in objects.values() if re.search(rb"/Type /Page\b", one)]
    text = "".join(_page(page, objects) for page in pages)
    return "".join(unicodedata.normalize("NFKC", text).split())


def _page(page: bytes, objects: dict[int, bytes]) -> str:
    fonts = {
        name: _letters(objects[int(number)], objects)
        for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", page)
    }
    contents = re.search(rb"/Contents (\d+)", page)
    assert contents is not None
    letters, text = {}, ""
    drawn = _unpacked(objects[int(contents[1])])
    for font, shown in re.findall(rb"/(F\d+) [\d.]+ Tf|((?:<[0-9A-F]*>|\[[^]]*\]) ?T[jJ])", drawn):
        if font:
            letters = fonts[font]
        for codes in re.findall(rb"<([0-9A-F]*)>", shown):
            width = letters["width"]
            glyphs = (codes[i : i + width] for i in range(0, len(codes), width))
            text += "".join(letters.get(int(glyph, 16), "") for glyph in glyphs)
    return text


def _letters(font: bytes, objects: dict[int, bytes]) -> dict:
    """What every glyph of a font stands for, and how many hexadecimal digits it takes."""
    number = re.search(rb"/ToUnicode (\d+)", font)
    assert number is not None
    table = _unpacked(objects[int(number[1])])
    found: dict = {"width": 4 if b"/Type0" in font else 2}
    for part in re.findall(rb"beginbfchar(.*?)endbfchar", table, re.DOTALL):
        for glyph, code in re.findall(rb"<(\w+)> <(\w+)>", part):
            found[int(glyph, 16)] = bytes.fromhex(code.decode()).decode("utf-16-be")
    for part in re.findall(rb"beginbfrange(.*?)endbfrange", table, re.DOTALL):
        for first, last, code in re.findall(rb"<(\w+)> <(\w+)> <(\w+)>", part):
            for i in range(int(last, 16) - int(first, 16) + 1):
                found[int(first, 16) + i] = chr(int(code, 16) + i)
    return found


def _unpacked(part: bytes) -> bytes:
    packed = STREAM.search(part)
    assert packed is not None
    return zlib.decompress(packed[1]) if b"/FlateDecode" in part else packed[1]
