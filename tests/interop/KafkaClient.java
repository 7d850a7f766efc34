import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
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
 *   list TOPIC PARTITION ISOLATION                           -> ListOffsets -2, -1, -3: offset:timestamp:epoch of each
 *   producer NAME CONFIG=VALUE,...                           -> nothing; a producer for the requests below
 *   init|begin|commit|abort NAME                             -> nothing
 *   batches NAME TOPIC PARTITION BATCH;...                   -> last offset; BATCH is RECORD,... and RECORD is
 *                                                               TIME:KEY:VALUE:HEADERS in hex, - for null, headers NAME=VALUE&...
 *   contents TOPIC PARTITION OFFSET ISOLATION                -> offset:timestamp:CRC of key:CRC of value,... from there to the end
 *   slice TOPIC PARTITION OFFSET BYTES                       -> offset,... that one fetch of so many bytes brings
 *   delete-records TOPIC PARTITION OFFSET                    -> nothing
 *   alter TOPIC CONFIG=VALUE,...                             -> nothing
 *   commit-offset GROUP TOPIC PARTITION OFFSET               -> nothing
 *   group GROUP                                              -> topic:partition:offset,... sorted
 */
public class KafkaClient {
    static String servers;
    static Admin admin;
    static final Map<String, KafkaProducer<byte[], byte[]>> transactional = new HashMap<>(), named = new HashMap<>();
    static final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();

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
                NewTopic topic = new NewTopic(q[1], Integer.parseInt(q[2]), (short) 1).configs(configs(q[3]));
                admin.createTopics(List.of(topic)).all().get();
                return "";
            }
            case "delete":
                admin.deleteTopics(List.of(q[1])).all().get();
                return "";
            case "send":
                try (KafkaProducer<byte[], byte[]> producer = producer(Map.of("compression.type", q[7]))) {
                    return String.valueOf(send(producer, Arrays.copyOfRange(q, 1, 7), Integer.parseInt(q[8])));
                }
            case "producer": {
                KafkaProducer<byte[], byte[]> before = named.put(q[1], producer(configs(q[2])));
                if (before != null) before.close(Duration.ZERO);
                return "";
            }
            case "init": named.get(q[1]).initTransactions(); return "";
            case "begin": named.get(q[1]).beginTransaction(); return "";
            case "commit": named.get(q[1]).commitTransaction(); return "";
            case "abort": named.get(q[1]).abortTransaction(); return "";
            case "batches": return String.valueOf(batches(named.get(q[1]), partition(Arrays.copyOfRange(q, 1, 4)), q[4]));
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
            case "list": return list(partition(q), q[3]);
            case "contents": return contents(partition(q), Long.parseLong(q[3]), q[4]);
            case "slice": return slice(partition(q), Long.parseLong(q[3]), Integer.parseInt(q[4]));
            case "delete-records":
                admin.deleteRecords(Map.of(partition(q), RecordsToDelete.beforeOffset(Long.parseLong(q[3])))).all().get();
                return "";
            case "alter": {
                List<AlterConfigOp> changes = new ArrayList<>();
                configs(q[2]).forEach((name, value) -> changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
                admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, q[1]), changes)).all().get();
                return "";
            }
            case "commit-offset": {
                TopicPartition partition = partition(Arrays.copyOfRange(q, 1, 4));
                admin.alterConsumerGroupOffsets(q[1], Map.of(partition, new OffsetAndMetadata(Long.parseLong(q[4])))).all().get();
                return "";
            }
            case "group": {
                Set<String> found = new TreeSet<>();
                admin.listConsumerGroupOffsets(q[1]).partitionsToOffsetAndMetadata().get()
                    .forEach((partition, at) -> found.add(partition.topic() + ":" + partition.partition() + ":" + at.offset()));
                return String.join(",", found);
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

    static long batches(KafkaProducer<byte[], byte[]> producer, TopicPartition to, String batches) throws Exception {
        long last = -1;
        for (String batch : batches.split(";")) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String record : batch.split(",")) {
                String[] f = record.split(":", -1);
                Long time = f[0].equals("-") ? null : Long.valueOf(f[0]);
                ProducerRecord<byte[], byte[]> made = new ProducerRecord<>(to.topic(), to.partition(), time, bytes(f[1]), bytes(f[2]));
                for (String header : f[3].split("&"))
                    if (!header.isEmpty()) made.headers().add(new String(bytes(header.split("=")[0]), StandardCharsets.UTF_8), bytes(header.split("=", -1)[1]));
                sent.add(producer.send(made));
            }
            producer.flush();
            for (Future<RecordMetadata> each : sent) last = each.get().offset();
        }
        return last;
    }

    static String list(TopicPartition partition, String isolation) throws Exception {
        ListOffsetsOptions options = new ListOffsetsOptions(isolation.equals("read_committed") ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED);
        StringJoiner found = new StringJoiner("\t");
        for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp())) {
            ListOffsetsResult.ListOffsetsResultInfo at = admin.listOffsets(Map.of(partition, spec), options).all().get().get(partition);
            found.add(at.offset() + ":" + at.timestamp() + ":" + at.leaderEpoch().map(String::valueOf).orElse("-"));
        }
        return found.toString();
    }

    static String contents(TopicPartition partition, long from, String isolation) {
        StringJoiner found = new StringJoiner(",");
        KafkaConsumer<byte[], byte[]> consumer = kept(isolation, 1 << 20);
        consumer.assign(List.of(partition));
        consumer.seek(partition, from);
        long end = consumer.endOffsets(List.of(partition)).get(partition), deadline = System.currentTimeMillis() + 60000;
        while (consumer.position(partition) < end) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException("stuck at " + consumer.position(partition));
            for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(50)))
                found.add(r.offset() + ":" + r.timestamp() + ":" + crc(r.key()) + ":" + crc(r.value()));
        }
        return found.toString();
    }

    static String slice(TopicPartition partition, long from, int bytes) {
        StringJoiner found = new StringJoiner(",");
        KafkaConsumer<byte[], byte[]> consumer = kept("read_uncommitted", bytes);
        consumer.assign(List.of(partition));
        consumer.seek(partition, from);
        for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofSeconds(10))) found.add(String.valueOf(r.offset()));
        return found.toString();
    }

    /** A consumer that stays: making one takes longer than asking it. */
    static KafkaConsumer<byte[], byte[]> kept(String isolation, int bytes) {
        return consumers.computeIfAbsent(isolation + bytes, k -> consumer(isolation, Map.of(
            "max.partition.fetch.bytes", bytes, "max.poll.records", 1_000_000, "fetch.max.wait.ms", 20)));
    }

    static String crc(byte[] data) {
        if (data == null) return "-";
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(data);
        return Long.toHexString(crc.getValue());
    }

    static byte[] bytes(String hex) { return hex.equals("-") ? null : HexFormat.of().parseHex(hex); }

    static Map<String, String> configs(String pairs) {
        Map<String, String> configs = new HashMap<>();
        for (String pair : pairs.split(",")) if (!pair.isEmpty()) configs.put(pair.split("=")[0], pair.split("=")[1]);
        return configs;
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

    static KafkaConsumer<byte[], byte[]> consumer(String isolation) { return consumer(isolation, Map.of()); }

    static KafkaConsumer<byte[], byte[]> consumer(String isolation, Map<String, Object> more) {
        Map<String, Object> all = new HashMap<>(more);
        all.putAll(Map.of("bootstrap.servers", servers, "isolation.level", isolation, "enable.auto.commit", "false"));
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static TopicPartition partition(String[] q) { return new TopicPartition(q[1], Integer.parseInt(q[2])); }
}
