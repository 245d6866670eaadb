"""Does one hop take longer among more chains? Two runs, one claim, one figure."""
