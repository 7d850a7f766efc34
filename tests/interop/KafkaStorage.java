import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.*;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * Kafka's own storage classes, asked for tests: a request a line (fields between tabs), its answer a line: "ok" and a tab before
 * what was asked for, or "error". Files are copies that may be changed. Lists have a space between answers; - is none.
 *
 *   offset FILE BASE TARGET...                  -> OffsetIndex.lookup: offset:position
 *   time FILE BASE TARGET...                    -> TimeIndex.lookup: timestamp:offset
 *   probe FILE BASE key|value lower|upper TARGET... -> AbstractIndex' search: slot:slot probed,slot probed...
 *   upper FILE BASE OFFSET:POSITION:SIZE...     -> OffsetIndex.fetchUpperBoundOffset: offset:position
 *   aborted FILE BASE FROM:TO...                -> TransactionIndex.collectAbortedTxns: complete;producer:first,...
 *   read DIR BASE OFFSET:SIZE...                -> LogSegment.read: first offset:position:size, one message at least
 *   find DIR BASE TIMESTAMP:START...            -> LogSegment.findOffsetByTimestamp: timestamp:offset:epoch
 *   recover DIR BASE INTERVAL INDEXBYTES TOPIC PARTITION -> LogSegment.recover: truncated bytes; DIR's indexes are written anew
 *   append offset|time|aborted FILE BASE MAXSIZE ENTRY... -> entries taken, "ok" or the exception; the file is trimmed
 *   truncate offset|time FILE BASE OFFSET       -> entries left; the file is trimmed
 *   map MEMORY DIGEST FILE                      -> SkimpyOffsetMap after FILE's lines "key in hex, offset": puts taken, slots, size,
 *                                                  latest offset, its bytes' SHA-256, what it says for each key asked with a line "?key"
 *   dump OUT ERR ARGUMENT...                    -> DumpLogSegments' text in two files; what it threw
 */
public class KafkaStorage {
    private static final KafkaScheduler SCHEDULER = new KafkaScheduler(1);

    public static void main(String[] args) throws Exception {
        SCHEDULER.startup();
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);                      // whatever Kafka prints is no answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                answer = "ok\t" + answer(line.split("\t", -1));
            } catch (Throwable e) {
                answer = "error\t" + String.valueOf(e).replaceAll("\\s+", " ");
            }
            out.println(answer);
        }
        Runtime.getRuntime().halt(0);
    }

    static String answer(String[] q) throws Exception {
        switch (q[0]) {
            case "offset":
                try (OffsetIndex index = new OffsetIndex(new File(q[1]), l(q[2]), -1, false)) {
                    return each(q, 3, t -> said(index.lookup(l(t[0]))));
                }
            case "time":
                try (TimeIndex index = new TimeIndex(new File(q[1]), l(q[2]), -1, false)) {
                    return each(q, 3, t -> { TimestampOffset found = index.lookup(l(t[0])); return found.timestamp() + ":" + found.offset(); });
                }
            case "probe":
                try (Recording index = new Recording(new File(q[1]), l(q[2]))) {
                    IndexSearchType by = q[3].equals("key") ? IndexSearchType.KEY : IndexSearchType.VALUE;
                    return each(q, 5, t -> index.search(l(t[0]), by, q[4].equals("upper")));
                }
            case "upper":
                try (OffsetIndex index = new OffsetIndex(new File(q[1]), l(q[2]), -1, false)) {
                    return each(q, 3, t -> index.fetchUpperBoundOffset(new OffsetPosition(l(t[0]), i(t[1])), i(t[2])).map(KafkaStorage::said).orElse("-"));
                }
            case "aborted":
                try (TransactionIndex index = new TransactionIndex(l(q[2]), new File(q[1]))) {
                    return each(q, 3, t -> {
                        TxnIndexSearchResult found = index.collectAbortedTxns(l(t[0]), l(t[1]));
                        StringJoiner all = new StringJoiner(",");
                        for (AbortedTxn each : found.abortedTransactions()) all.add(each.producerId() + ":" + each.firstOffset());
                        return found.isComplete() + ";" + all;
                    });
                }
            case "read":
                try (LogSegment segment = segment(q[1], l(q[2]), 4096, -1)) {
                    return each(q, 3, t -> {
                        FetchDataInfo found = segment.read(l(t[0]), i(t[1]), Optional.of((long) segment.size()), true);
                        if (found == null) return "-";
                        return found.fetchOffsetMetadata.relativePositionInSegment + ":" + found.records.sizeInBytes();
                    });
                }
            case "find":
                try (LogSegment segment = segment(q[1], l(q[2]), 4096, -1)) {
                    return each(q, 3, t -> segment.findOffsetByTimestamp(l(t[0]), l(t[1]))
                        .map(f -> f.timestamp + ":" + f.offset + ":" + f.leaderEpoch.map(String::valueOf).orElse("-")).orElse("-"));
                }
            case "recover": return recover(q[1], l(q[2]), i(q[3]), i(q[4]), new TopicPartition(q[5], i(q[6])));
            case "append": return append(q);
            case "truncate":
                try (AbstractIndex index = q[1].equals("time") ? new TimeIndex(new File(q[2]), l(q[3]), -1, true) : new OffsetIndex(new File(q[2]), l(q[3]), -1, true)) {
                    index.truncateTo(l(q[4]));
                    return String.valueOf(index.entries());
                }
            case "map": return map(i(q[1]), q[2], Path.of(q[3]));
            case "dump": return dump(q[1], q[2], Arrays.copyOfRange(q, 3, q.length));
            default: throw new IllegalArgumentException("unknown request " + q[0]);
        }
    }

    static String append(String[] q) throws Exception {
        File file = new File(q[2]);
        long base = l(q[3]);
        int done = 0;
        try (OffsetIndex offsets = q[1].equals("offset") ? new OffsetIndex(file, base, i(q[4]), true) : null;
             TimeIndex times = q[1].equals("time") ? new TimeIndex(file, base, i(q[4]), true) : null;
             TransactionIndex aborted = q[1].equals("aborted") ? new TransactionIndex(base, file) : null) {
            for (String entry : Arrays.copyOfRange(q, 5, q.length)) {
                long[] e = Arrays.stream(entry.split(":")).mapToLong(Long::parseLong).toArray();
                if (offsets != null) offsets.append(e[0], (int) e[1]);
                else if (times != null) times.maybeAppend(e[0], e[1]);
                else aborted.append(new AbortedTxn(e[0], e[1], e[2], e[3]));
                done++;
            }
        } catch (RuntimeException refusal) {
            return done + "\t" + refusal.getClass().getSimpleName();
        }
        return done + "\tok";
    }

    /** As LogLoader recovers a segment: producers from the snapshot at its start; at time 0 none is too old. */
    static String recover(String directory, long base, int interval, int indexBytes, TopicPartition name) throws Exception {
        File dir = new File(directory);
        ProducerStateManager producers = new ProducerStateManager(name, dir, 3600000, new ProducerStateManagerConfig(86400000, false), Time.SYSTEM);
        producers.truncateAndReload(0, base, 0);
        LeaderEpochCheckpointFile checkpoint = new LeaderEpochCheckpointFile(new File(dir, "leader-epoch-checkpoint"), new LogDirFailureChannel(1));
        try (LogSegment segment = segment(directory, base, interval, indexBytes)) {
            return String.valueOf(segment.recover(producers, new LeaderEpochFileCache(name, checkpoint, SCHEDULER)));
        }
    }

    static String map(int memory, String digest, Path lines) throws Exception {
        SkimpyOffsetMap map = new SkimpyOffsetMap(memory, digest);
        StringJoiner asked = new StringJoiner(",");
        int done = 0;
        boolean full = false;
        for (String line : Files.readAllLines(lines)) {
            if (line.startsWith("?")) { asked.add(String.valueOf(map.get(key(line.substring(1))))); continue; }
            if (full) continue;
            String[] pair = line.split(" ");
            try { map.put(key(pair[0]), l(pair[1])); done++; } catch (IllegalArgumentException e) { full = true; }
        }
        java.lang.reflect.Field field = SkimpyOffsetMap.class.getDeclaredField("bytes");
        field.setAccessible(true);
        byte[] sha = java.security.MessageDigest.getInstance("SHA-256").digest(((ByteBuffer) field.get(map)).array());
        return done + "\t" + map.slots() + "\t" + map.size() + "\t" + map.latestOffset() + "\t" + HexFormat.of().formatHex(sha) + "\t" + asked;
    }

    static String dump(String out, String err, String[] args) throws IOException {
        PrintStream before = System.out, errors = System.err;
        String thrown = "-";
        try (PrintStream text = new PrintStream(out, StandardCharsets.UTF_8); PrintStream complaints = new PrintStream(err, StandardCharsets.UTF_8)) {
            System.setOut(text);
            System.setErr(complaints);
            DumpLogSegments.main(args);
        } catch (Throwable e) {
            thrown = String.valueOf(e).replaceAll("\\s+", " ");
        } finally {
            System.setOut(before);
            System.setErr(errors);
        }
        return thrown;
    }

    static LogSegment segment(String directory, long base, int interval, int indexBytes) throws IOException {
        Map<String, Object> configs = new HashMap<>(Map.of("index.interval.bytes", interval));
        if (indexBytes > 0) configs.put("segment.index.bytes", indexBytes);
        return LogSegment.open(new File(directory), base, new LogConfig(configs), Time.SYSTEM, true, 0, false, "");
    }

    interface Question { String of(String[] fields) throws Exception; }

    static String each(String[] q, int from, Question question) throws Exception {
        StringJoiner all = new StringJoiner(" ");
        for (int n = from; n < q.length; n++) all.add(question.of(q[n].split(":")));
        return all.toString();
    }

    static String said(OffsetPosition p) { return p.offset() + ":" + p.position(); }
    static ByteBuffer key(String hex) { return ByteBuffer.wrap(HexFormat.of().parseHex(hex)); }
    static long l(String s) { return Long.parseLong(s); }
    static int i(String s) { return Integer.parseInt(s); }

    /** Kafka's search, unchanged; only the reading of an entry is watched. */
    static final class Recording extends AbstractIndex {
        private final List<String> slots = new ArrayList<>();

        Recording(File file, long base) throws IOException { super(file, base, -1, false); }

        // Asked for by the superclass' constructor, before a field of ours could be set.
        @Override protected int entrySize() { return file().getName().contains(".timeindex") ? 12 : 8; }

        @Override protected IndexEntry parseEntry(ByteBuffer b, int n) {
            slots.add(String.valueOf(n));
            return entrySize() == 8 ? new OffsetPosition(baseOffset() + b.getInt(n * 8), b.getInt(n * 8 + 4))
                : new TimestampOffset(b.getLong(n * 12), baseOffset() + b.getInt(n * 12 + 8));
        }

        String search(long target, IndexSearchType by, boolean upper) {
            slots.clear();
            ByteBuffer bytes = mmap().duplicate();
            int slot = upper ? smallestUpperBoundSlotFor(bytes, target, by) : largestLowerBoundSlotFor(bytes, target, by);
            return slot + ":" + String.join(",", slots);
        }

        @Override public void sanityCheck() { }
        @Override public void truncateTo(long offset) { throw new UnsupportedOperationException(); }
        @Override protected void truncate() { throw new UnsupportedOperationException(); }
    }
}
