import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.serialization.*;

/**
 * What a broker's own clients say of its state, for tests: a request a line (fields between tabs), its answer a line: "ok" and
 * a tab before what was asked for, or "error". Lists have a space between fields and a semicolon between entries, sorted.
 *
 *   create TOPIC PARTITIONS, grow TOPIC PARTITIONS, delete-topic TOPIC, config TOPIC NAME VALUE (empty: delete it)
 *   commit GROUP TOPIC PARTITION OFFSET, delete-group GROUP
 *   transaction ID GROUP TOPIC PARTITION OFFSET commit|abort|open
 *   quota USER KEY VALUE (empty: remove it), scram USER ITERATIONS
 *   offsets, topics, configs, quotas, scrams, features, transactions, end TOPIC PARTITION  -> lists; the end offset
 */
public class KafkaState {
    static String servers;
    static Admin admin;

    public static void main(String[] args) throws Exception {
        servers = args[0];
        admin = Admin.create(Map.of("bootstrap.servers", servers));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                answer = "ok\t" + String.join(";", new TreeSet<>(answer(line.split("\t", -1))));
            } catch (Throwable e) {
                answer = "error\t" + String.valueOf(e).replaceAll("\\s+", " ");
            }
            System.out.println(answer);
            System.out.flush();
        }
        System.exit(0);
    }

    static Collection<String> answer(String[] q) throws Exception {
        switch (q[0]) {
            case "create":
                admin.createTopics(List.of(new NewTopic(q[1], Integer.parseInt(q[2]), (short) 1))).all().get();
                return List.of();
            case "grow":
                admin.createPartitions(Map.of(q[1], NewPartitions.increaseTo(Integer.parseInt(q[2])))).all().get();
                return List.of();
            case "delete-topic":
                admin.deleteTopics(List.of(q[1])).all().get();
                return List.of();
            case "config": {
                AlterConfigOp.OpType how = q[3].isEmpty() ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
                AlterConfigOp change = new AlterConfigOp(new ConfigEntry(q[2], q[3]), how);
                admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, q[1]), List.of(change))).all().get();
                return List.of();
            }
            case "commit":
                try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", servers, "group.id", q[1]),
                        new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                    consumer.assign(List.of(partition(q, 2)));
                    consumer.commitSync(Map.of(partition(q, 2), new OffsetAndMetadata(Long.parseLong(q[4]))));
                }
                return List.of();
            case "delete-group":
                admin.deleteConsumerGroups(List.of(q[1])).all().get();
                return List.of();
            case "transaction": {
                KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(Map.of("bootstrap.servers", servers, "transactional.id", q[1]),
                    new ByteArraySerializer(), new ByteArraySerializer());
                producer.initTransactions();
                producer.beginTransaction();
                producer.sendOffsetsToTransaction(Map.of(partition(q, 3), new OffsetAndMetadata(Long.parseLong(q[5]))), new ConsumerGroupMetadata(q[2]));
                producer.flush();
                if (q[6].equals("commit")) producer.commitTransaction();
                if (q[6].equals("abort")) producer.abortTransaction();
                return List.of();
            }
            case "quota": {
                ClientQuotaEntity user = new ClientQuotaEntity(Map.of("user", q[1]));
                ClientQuotaAlteration.Op op = new ClientQuotaAlteration.Op(q[2], q[3].isEmpty() ? null : Double.valueOf(q[3]));
                admin.alterClientQuotas(List.of(new ClientQuotaAlteration(user, List.of(op)))).all().get();
                return List.of();
            }
            case "scram": {
                ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, Integer.parseInt(q[2]));
                admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion(q[1], info, "secret"))).all().get();
                return List.of();
            }
            case "offsets": {
                List<String> found = new ArrayList<>();
                for (GroupListing group : admin.listGroups().all().get())
                    admin.listConsumerGroupOffsets(group.groupId()).partitionsToOffsetAndMetadata().get()
                        .forEach((p, o) -> found.add(group.groupId() + " " + p.topic() + " " + p.partition() + " " + o.offset()));
                return found;
            }
            case "topics": {
                List<String> found = new ArrayList<>();
                admin.describeTopics(topicNames()).allTopicNames().get().forEach((name, topic) -> topic.partitions().forEach(p -> found.add(
                    name + " " + topic.topicId() + " " + p.partition() + " " + p.leader().id() + " " + p.replicas().size() + " " + p.isr().size())));
                return found;
            }
            case "configs": {
                List<ConfigResource> topics = topicNames().stream().map(n -> new ConfigResource(ConfigResource.Type.TOPIC, n)).collect(Collectors.toList());
                List<String> found = new ArrayList<>();
                admin.describeConfigs(topics).all().get().forEach((topic, config) -> config.entries().forEach(e -> {
                    if (e.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) found.add(topic.name() + " " + e.name() + " " + e.value());
                }));
                return found;
            }
            case "quotas": {
                List<String> found = new ArrayList<>();
                admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().forEach((entity, quotas) -> quotas.forEach((key, value) ->
                    found.add(entity.entries().get("user") + " " + key + " " + value)));
                return found;
            }
            case "scrams": {
                List<String> found = new ArrayList<>();
                admin.describeUserScramCredentials().all().get().forEach((user, said) -> said.credentialInfos().forEach(info ->
                    found.add(user + " " + info.mechanism().mechanismName() + " " + info.iterations())));
                return found;
            }
            case "features": {
                List<String> found = new ArrayList<>();
                admin.describeFeatures().featureMetadata().get().finalizedFeatures().forEach((name, range) -> found.add(name + " " + range.maxVersionLevel()));
                return found;
            }
            case "transactions":
                return admin.listTransactions().all().get().stream()
                    .map(t -> t.transactionalId() + " " + t.producerId() + " " + t.state()).collect(Collectors.toList());
            case "end":
                return List.of("" + admin.listOffsets(Map.of(partition(q, 1), OffsetSpec.latest())).all().get().get(partition(q, 1)).offset());
            default:
                throw new IllegalArgumentException("unknown request " + q[0]);
        }
    }

    static Set<String> topicNames() throws Exception {
        return admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
    }

    static TopicPartition partition(String[] q, int at) { return new TopicPartition(q[at], Integer.parseInt(q[at + 1])); }
}
