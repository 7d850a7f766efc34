import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.*;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * What Kafka makes of damaged files, for tests: a request a line (fields between tabs), its answer a line.
 *
 *   dump ARGS...                 -> DumpLogSegments' standard output, standard error, and what it threw
 *   recover DIR BASE TOPIC PART  -> bytes that LogSegment.recover cuts off, and what it threw
 *   load DIR BASE TOPIC PART     -> what a start without recovery trips over: indexes' sanity checks, snapshot, epochs
 *
 * Texts are in base64; "" is nothing. What takes longer than a minute is answered as thrown: "hung". Some of these
 * classes write what they read: the caller gives them copies.
 */
public class KafkaJudge {
    static final PrintStream OUT = System.out;
    static final KafkaScheduler SCHEDULER = new KafkaScheduler(1);
    static final ExecutorService RUNNER = Executors.newCachedThreadPool(run -> {
        Thread thread = new Thread(run);
        thread.setDaemon(true);
        return thread;
    });

    interface Attempt { Object run() throws Throwable; }

    public static void main(String[] args) throws Exception {
        SCHEDULER.startup();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] q = line.split("\t", -1);
            OUT.println("ok\t" + answer(q));
            OUT.flush();
        }
        System.exit(0);
    }

    static String answer(String[] q) {
        switch (q[0]) {
            case "dump": return dump(Arrays.copyOfRange(q, 1, q.length));
            case "recover": {
                Object[] cut = {""};
                String threw = attempt(() -> cut[0] = recover(new File(q[1]), Long.parseLong(q[2]), partition(q)));
                return cut[0] + "\t" + threw;
            }
            case "load": return load(new File(q[1]), Long.parseLong(q[2]), partition(q));
            default: return "\tunknown question";
        }
    }

    static TopicPartition partition(String[] q) { return new TopicPartition(q[3], Integer.parseInt(q[4])); }

    static String dump(String[] args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(), err = new ByteArrayOutputStream();
        PrintStream oldErr = System.err;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        String threw = attempt(() -> { DumpLogSegments.main(args); return null; });
        System.setOut(OUT);
        System.setErr(oldErr);
        return text(out.toByteArray()) + "\t" + text(err.toByteArray()) + "\t" + threw;
    }

    static int recover(File dir, long base, TopicPartition partition) throws Exception {
        Map<String, Object> config = Map.of("index.interval.bytes", 200, "segment.index.bytes", 120000);
        try (LogSegment segment = LogSegment.open(dir, base, new LogConfig(config), Time.SYSTEM, true, 0, false, "")) {
            return segment.recover(producers(dir, base, partition), epochs(dir, partition));
        }
    }

    /** From the snapshot at the segment's start, as LogLoader does; nothing expires at time 0. */
    static ProducerStateManager producers(File dir, long base, TopicPartition partition) throws Exception {
        ProducerStateManager state =
            new ProducerStateManager(partition, dir, 3600000, new ProducerStateManagerConfig(86400000, false), Time.SYSTEM);
        state.truncateAndReload(0, base, 0);
        return state;
    }

    static LeaderEpochFileCache epochs(File dir, TopicPartition partition) throws Exception {
        File file = new File(dir, "leader-epoch-checkpoint");
        return new LeaderEpochFileCache(partition, new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)), SCHEDULER);
    }

    static String load(File dir, long base, TopicPartition partition) {
        String stem = String.format("%020d", base);
        StringJoiner said = new StringJoiner("\t");
        Map<String, Attempt> attempts = new LinkedHashMap<>();
        attempts.put(".index", () -> { try (OffsetIndex i = new OffsetIndex(new File(dir, stem + ".index"), base, -1, false)) { i.sanityCheck(); } return null; });
        attempts.put(".timeindex", () -> { try (TimeIndex i = new TimeIndex(new File(dir, stem + ".timeindex"), base, -1, false)) { i.sanityCheck(); } return null; });
        attempts.put(".txnindex", () -> { try (TransactionIndex i = new TransactionIndex(base, new File(dir, stem + ".txnindex"))) { i.sanityCheck(); } return null; });
        attempts.put(".snapshot", () -> ProducerStateManager.readSnapshot(new File(dir, stem + ".snapshot")));
        attempts.put("leader-epoch-checkpoint", () -> epochs(dir, partition));
        attempts.forEach((name, attempt) -> {
            boolean there = new File(dir, name.startsWith(".") ? stem + name : name).exists();
            String threw = there ? attempt(attempt) : "";
            if (!threw.isEmpty()) said.add(name + " " + threw);
        });
        return said.toString();
    }

    /** "" or what was thrown: the class' name, a space, and the message in base64. */
    static String attempt(Attempt attempt) {
        Future<String> done = RUNNER.submit(() -> {
            try {
                attempt.run();
                return "";
            } catch (Throwable e) {
                return e.getClass().getSimpleName() + " " + text(String.valueOf(e.getMessage()).getBytes(StandardCharsets.UTF_8));
            }
        });
        try {
            return done.get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            return "hung ";
        }
    }

    static String text(byte[] bytes) { return Base64.getEncoder().encodeToString(bytes); }
}
