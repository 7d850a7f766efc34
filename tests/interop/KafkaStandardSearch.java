import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;

/**
 * The look-ups of Kafka 2.0, before KAFKA-6432 gave them a warm section, for tests: a request a line (fields between tabs), its
 * answer a line: "ok" and a tab before what was asked for, or "error".
 *
 *   offset|time FILE BASE TARGET... -> for each, with spaces between: key:value:slot probed,slot probed...
 */
public class KafkaStandardSearch {
    static final List<String> slots = new ArrayList<>();

    static final class Offsets extends kafka.log.OffsetIndex {
        Offsets(File file, long base) { super(file, base, -1, false); }
        @Override public kafka.log.IndexEntry parseEntry(ByteBuffer b, int n) { slots.add(String.valueOf(n)); return super.parseEntry(b, n); }
    }

    static final class Times extends kafka.log.TimeIndex {
        Times(File file, long base) { super(file, base, -1, false); }
        @Override public kafka.log.IndexEntry parseEntry(ByteBuffer b, int n) { slots.add(String.valueOf(n)); return super.parseEntry(b, n); }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);
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

    static String answer(String[] q) {
        File file = new File(q[1]);
        long base = Long.parseLong(q[2]);
        StringJoiner all = new StringJoiner(" ");
        Offsets offsets = q[0].equals("offset") ? new Offsets(file, base) : null;
        Times times = q[0].equals("time") ? new Times(file, base) : null;
        for (String target : Arrays.copyOfRange(q, 3, q.length)) {
            slots.clear();
            String found;
            if (offsets != null) {
                kafka.log.OffsetPosition p = offsets.lookup(Long.parseLong(target));
                found = p.offset() + ":" + p.position();
            } else {
                kafka.log.TimestampOffset t = times.lookup(Long.parseLong(target));
                found = t.timestamp() + ":" + t.offset();
            }
            // The search has read every slot once; a hit is read once more to be returned.
            int searched = slots.size();
            if (searched > 1 && slots.indexOf(slots.get(searched - 1)) < searched - 1) searched--;
            all.add(found + ":" + String.join(",", slots.subList(0, searched)));
        }
        return all.toString();
    }
}
