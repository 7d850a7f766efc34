"""Reading a log: with arrays for checks of complete logs, batch by batch for look-ups.

    walk(evidence, start, end)        one Batch after another by small reads, no numpy; `.ending` states how it ended
    read_records(evidence, batch)     the records of one batch, and what is wrong with it
    scan(evidence, index_positions)   every batch as Windows of header rows or arrays, CRCs checked; `.ending` as above
    read_columns(evidence, indexes, wanted)  records as RecordColumns, and what cannot be read
    RecordDecoder(evidence).blocks(window)  the same of a window of scan(..., hold=True)
    resume(evidence, position)        the next sound batch after a place where the batches broke off, or None
    parts(evidence, index_positions, n)  byte ranges on batch boundaries, to be scanned by several processes

`scan` gives the same result with a good index, a damaged one and none; an index only makes it faster. Names are
imported from their files (.walk, .records, .scan, .column_reader, .record_blocks, .resume), so that a look-up imports
no numpy.
"""
