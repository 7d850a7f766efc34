import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * A Kafka client for tests: a request a line on standard input (fields between tabs), its answer a line on standard output:
 * "ok" and a tab before what was asked for, or "error".
 *
 *   ping                                                     -> nodes
 *   create TOPIC PARTITIONS CONFIG=VALUE,...                 -> nothing
 *   delete TOPIC                                             -> nothing
 *   send TOPIC PARTITION COUNT BYTES TIME STEP CODEC BATCH   -> last offset; record i has timestamp TIME + i * STEP, BATCH records a batch
 *   transaction ID commit|abort|open TOPIC PARTITION COUNT BYTES TIME STEP -> last offset of its records
 *   offsets TOPIC PARTITION                                  -> first, end
 *   fetch TOPIC PARTITION OFFSET MOST ISOLATION              -> offset:timestamp,... from there to the end, MOST at most
 *   times TOPIC PARTITION TIMESTAMP,...                      -> offset:timestamp or - for each
 */
public class KafkaClient {
    static String servers;
    static Admin admin;
    static final Map<String, KafkaProducer<byte[], byte[]>> transactional = new HashMap<>();

    public static void main(String[] args) throws Exception {
        servers = args[0];
        admin = Admin.create(Map.of("bootstrap.servers", servers));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                answer = "ok\t" + answer(line.split("\t", -1));
            } catch (Throwable e) {
                answer = "error\t" + String.valueOf(e).replaceAll("\\s+", " ");
            }
            System.out.println(answer);
            System.out.flush();
        }
        System.exit(0);
    }

    static String answer(String[] q) throws Exception {
        switch (q[0]) {
            case "ping":
                return String.valueOf(admin.describeCluster().nodes().get().size());
            case "create": {
                Map<String, String> configs = new HashMap<>();
                for (String pair : q[3].split(",")) if (!pair.isEmpty()) configs.put(pair.split("=")[0], pair.split("=")[1]);
                admin.createTopics(List.of(new NewTopic(q[1], Integer.parseInt(q[2]), (short) 1).configs(configs))).all().get();
                return "";
            }
            case "delete":
                admin.deleteTopics(List.of(q[1])).all().get();
                return "";
            case "send":
                try (KafkaProducer<byte[], byte[]> producer = producer(Map.of("compression.type", q[7]))) {
                    return String.valueOf(send(producer, Arrays.copyOfRange(q, 1, 7), Integer.parseInt(q[8])));
                }
            case "transaction": {
                KafkaProducer<byte[], byte[]> producer = transactional.get(q[1]);
                if (producer == null) {
                    transactional.put(q[1], producer = producer(Map.of("transactional.id", q[1])));
                    producer.initTransactions();
                }
                producer.beginTransaction();
                long last = send(producer, Arrays.copyOfRange(q, 3, 9), 10);
                if (q[2].equals("commit")) producer.commitTransaction();
                if (q[2].equals("abort")) producer.abortTransaction();
                return String.valueOf(last);
            }
            case "offsets":
                try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted")) {
                    TopicPartition partition = partition(q);
                    return consumer.beginningOffsets(List.of(partition)).get(partition) + "\t" + consumer.endOffsets(List.of(partition)).get(partition);
                }
            case "fetch":
                return fetch(partition(q), Long.parseLong(q[3]), Integer.parseInt(q[4]), q[5]);
            case "times": {
                StringJoiner found = new StringJoiner(",");
                try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted")) {
                    for (String time : q[3].split(",")) {
                        OffsetAndTimestamp at = consumer.offsetsForTimes(Map.of(partition(q), Long.parseLong(time))).get(partition(q));
                        found.add(at == null ? "-" : at.offset() + ":" + at.timestamp());
                    }
                }
                return found.toString();
            }
            default:
                throw new IllegalArgumentException("unknown request " + q[0]);
        }
    }

    /** f: topic, partition, count, bytes, first timestamp, step. */
    static long send(KafkaProducer<byte[], byte[]> producer, String[] f, int batch) throws Exception {
        int count = Integer.parseInt(f[2]);
        long time = Long.parseLong(f[4]), step = Long.parseLong(f[5]);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        Random random = new Random(count);
        for (int i = 0; i < count; i++) {
            byte[] value = new byte[Integer.parseInt(f[3])];
            random.nextBytes(value);
            sent.add(producer.send(new ProducerRecord<>(f[0], Integer.parseInt(f[1]), time + i * step, ("key-" + i).getBytes(), value)));
            if (i % batch == batch - 1) producer.flush();
        }
        producer.flush();
        long last = -1;
        for (Future<RecordMetadata> each : sent) last = each.get().offset();
        return last;
    }

    static String fetch(TopicPartition partition, long from, int most, String isolation) {
        StringJoiner found = new StringJoiner(",");
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation)) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, from);
            long end = consumer.endOffsets(List.of(partition)).get(partition), deadline = System.currentTimeMillis() + 30000;
            int count = 0;
            while (consumer.position(partition) < end && count < most && System.currentTimeMillis() < deadline)
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500)))
                    if (count++ < most) found.add(record.offset() + ":" + record.timestamp());
        }
        return found.toString();
    }

    static KafkaProducer<byte[], byte[]> producer(Map<String, String> configs) {
        Map<String, Object> all = new HashMap<>(configs);
        all.put("bootstrap.servers", servers);
        all.put("linger.ms", "60000");
        all.put("batch.size", "1000000");
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static KafkaConsumer<byte[], byte[]> consumer(String isolation) {
        return new KafkaConsumer<>(Map.of("bootstrap.servers", servers, "isolation.level", isolation, "enable.auto.commit", "false"),
            new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static TopicPartition partition(String[] q) { return new TopicPartition(q[1], Integer.parseInt(q[2])); }
}
