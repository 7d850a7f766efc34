import java.io.*;
import java.lang.reflect.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.*;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.store.*;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.index.IndexFile;
import org.apache.rocketmq.store.index.IndexService;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * A real RocketMQ store (4.9 or 5), for tests: a request a line (fields between tabs), its answer a line: "ok" and a tab before what
 * was asked for, or "error". What a store throws when it is asked is answered as !ClassName, one that does not load as !NotLoaded.
 *
 *   make STORE PROPERTIES MESSAGES stop|crash -> its index files, as below; messages are stored in a new STORE: the file MESSAGES has one a line, fields between
 *       tabs: TIME TOPIC QUEUE TAGS KEYS UNIQ SYSFLAG FLAG BODY NAME=VALUE&... ; texts in hex, - for none. crash: files of a running store
 *   open STORE PROPERTIES                     -> whether it loads; STORE, a copy that may be changed, is asked from now on
 *   ends                                      -> the commit log's first offset and end
 *   range TOPIC QUEUE                         -> its first offset and end
 *   units TOPIC QUEUE                         -> OFFSET:COMMIT LOG OFFSET:SIZE:TAG CODE of each unit between them, with spaces
 *   time TOPIC QUEUE MS BOUNDARY              -> queue offset; BOUNDARY is - in 4.9
 *   pull TOPIC QUEUE OFFSET MOST TOTAL RATIO  -> status, next offset, messages, bytes, whether the slave is suggested; TOTAL bytes
 *       of physical memory, - for the machine's, RATIO accessMessageInMemoryMaxRatio
 *   key TOPIC KEY MAX BEGIN END               -> commit-log offsets between commas; KEY in hex
 *   indexes                                   -> its index files' names between commas; 4.9 and 5 name a file by the millisecond,
 *                                                so that two made in one are the same file
 *   message OFFSET                            -> what is there, as one line of name=value
 *   memory                                    -> the machine's physical memory
 */
@SuppressWarnings("removal")
public final class RocketmqStore {
    private static final String[] SYSTEM_PROPERTIES = {"enableCompaction", "timerWheelEnable"};    // 5: services that only add files
    private static DefaultMessageStore store;
    private static MessageStoreConfig config;
    private static boolean loaded;
    private static volatile long clock;

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);                      // whatever the store prints is no answer
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
        Runtime.getRuntime().halt(0);                   // the stores leave threads behind
    }

    private static String answer(String[] q) throws Exception {
        switch (q[0]) {
            case "make": return make(Path.of(q[1]), Path.of(q[2]), Path.of(q[3]), q[4].equals("crash"));
            case "open": open(q[1], q[2]); return String.valueOf(loaded);
            case "memory": return String.valueOf(StoreUtil.TOTAL_PHYSICAL_MEMORY_SIZE);
            default:
                if (!loaded) return "!NotLoaded";
                try {
                    return asked(q);
                } catch (Throwable e) {
                    return "!" + (e instanceof InvocationTargetException ? e.getCause() : e).getClass().getSimpleName();
                }
        }
    }

    private static String asked(String[] q) throws Exception {
        switch (q[0]) {
            case "ends": return store.getMinPhyOffset() + "\t" + store.getMaxPhyOffset();
            case "range": return store.getMinOffsetInQueue(q[1], i(q[2])) + "\t" + store.getMaxOffsetInQueue(q[1], i(q[2]));
            case "units": {
                ConsumeQueue queue = (ConsumeQueue) store.getConsumeQueueTable().get(q[1]).get(i(q[2]));
                StringJoiner units = new StringJoiner(" ");
                for (long n = queue.getMinOffsetInQueue(); n < queue.getMaxOffsetInQueue(); n++) {
                    SelectMappedBufferResult found = queue.getIndexBuffer(n);
                    if (found == null) { units.add(n + ":-"); continue; }
                    ByteBuffer b = found.getByteBuffer();
                    units.add(n + ":" + b.getLong() + ":" + b.getInt() + ":" + b.getLong());
                    found.release();
                }
                return units.toString();
            }
            case "time": return time(q[1], i(q[2]), l(q[3]), q[4]);
            case "pull": {
                if (!q[5].equals("-")) totalMemory(l(q[5]));
                config.setAccessMessageInMemoryMaxRatio(i(q[6]));
                GetMessageResult r = store.getMessage("kidx", q[1], i(q[2]), l(q[3]), i(q[4]), null);
                String said = r.getStatus() + "\t" + r.getNextBeginOffset() + "\t" + r.getMessageCount() + "\t" + r.getBufferTotalSize() + "\t" + r.isSuggestPullingFromSlave();
                r.release();
                return said;
            }
            case "key": {
                IndexService index = (IndexService) get(store, "indexService");
                StringJoiner found = new StringJoiner(",");
                for (long at : index.queryOffset(q[1], text(q[2]), i(q[3]), l(q[4]), l(q[5])).getPhyOffsets()) found.add(Long.toString(at));
                return found.toString();
            }
            case "indexes": return indexes(store);
            case "message": return said(store.lookMessageByOffset(l(q[1])));
            default: throw new IllegalArgumentException("unknown request " + q[0]);
        }
    }

    private static String indexes(DefaultMessageStore of) throws Exception {
        StringJoiner names = new StringJoiner(",");
        for (Object file : (List<?>) get(get(of, "indexService"), "indexFileList")) names.add(new File(((IndexFile) file).getFileName()).getName());
        return names.toString();
    }

    private static String make(Path root, Path properties, Path messages, boolean crash) throws Exception {
        Path working = root.resolveSibling(root.getFileName() + ".working");
        Files.createDirectories(working);
        DefaultMessageStore made = create(working.toString(), properties.toString());
        if (!made.load()) throw new IOException(root + " does not load");
        set(made, "systemClock", new SystemClock() { @Override public long now() { return clock; } });
        made.start();
        for (Method m : DefaultMessageStore.class.getMethods())    // 4.9 delivers delayed messages itself, at times of its own
            if (m.getName().equals("getScheduleMessageService")) { Object s = m.invoke(made); s.getClass().getMethod("shutdown").invoke(s); }
        for (String line : Files.readAllLines(messages)) {
            String[] f = line.split("\t", -1);
            clock = l(f[0]);
            PutMessageResult result = made.putMessage(message(f));
            if (!result.isOk()) throw new IllegalStateException(line + ": " + result.getPutMessageStatus());
        }
        for (int n = 0; made.dispatchBehindBytes() > 0; n++) { if (n > 500) throw new IllegalStateException("dispatch is behind"); Thread.sleep(20); }
        Thread.sleep(120);
        String names = indexes(made);
        if (crash) copy(working, root);
        made.shutdown();
        if (!crash) copy(working, root);
        delete(working);
        return names;
    }

    private static MessageExtBrokerInner message(String[] f) throws Exception {
        MessageExtBrokerInner m = new MessageExtBrokerInner();
        m.setTopic(f[1]);
        m.setQueueId(i(f[2]));
        m.setSysFlag(i(f[6]));
        m.setFlag(i(f[7]));
        m.setBody(f[8].equals("-") ? new byte[0] : HexFormat.of().parseHex(f[8]));
        m.setBornTimestamp(clock - 7);
        boolean six = (m.getSysFlag() & 0x10) != 0;
        m.setBornHost(new InetSocketAddress(InetAddress.getByName(six ? "2001:db8::7" : "10.1.2.3"), 40000));
        m.setStoreHost(new InetSocketAddress(InetAddress.getByName((m.getSysFlag() & 0x20) != 0 ? "fe80::1:2" : "10.9.8.7"), 10911));
        MessageAccessor.setProperties(m, new HashMap<>());
        if (!f[4].equals("-")) m.setKeys(text(f[4]));
        if (!f[5].equals("-")) MessageAccessor.putProperty(m, "UNIQ_KEY", f[5]);
        if (!f[3].equals("-")) m.setTags(text(f[3]));
        for (String pair : f[9].split("&"))
            if (!pair.isEmpty()) MessageAccessor.putProperty(m, text(pair.split("=")[0]), text(pair.split("=", -1)[1]));
        m.setPropertiesString(MessageDecoder.messageProperties2String(m.getProperties()));
        return m;
    }

    /** Right after its recovery, without its services: asked, a store need not run. */
    private static void open(String root, String properties) throws Exception {
        store = create(root, properties);
        loaded = store.load();
        set(store, "shutdown", false);
    }

    private static DefaultMessageStore create(String root, String file) throws Exception {
        Properties properties = new Properties();
        try (Reader in = Files.newBufferedReader(Path.of(file))) { properties.load(in); }
        for (String name : SYSTEM_PROPERTIES) properties.setProperty(name, "false");
        config = new MessageStoreConfig();
        MixAll.properties2Object(properties, config);
        config.setStorePathRootDir(root);
        config.setStorePathCommitLog(root + File.separator + "commitlog");
        config.setHaListenPort(0);
        config.setFileReservedTime(100 * 365 * 24);
        Constructor<?> make = DefaultMessageStore.class.getConstructors()[0];
        MessageArrivingListener quiet = (a, b, c, d, e, f, g) -> { };
        BrokerStatsManager stats = new BrokerStatsManager("kidx", false);
        return (DefaultMessageStore) (make.getParameterCount() == 4 ? make.newInstance(config, stats, quiet, new BrokerConfig())
            : make.newInstance(config, stats, quiet, new BrokerConfig(), new ConcurrentHashMap<>()));
    }

    private static String time(String topic, int queue, long time, String boundary) throws Exception {
        if (boundary.equals("-")) return String.valueOf(store.getOffsetInQueueByTime(topic, queue, time));
        for (Method m : DefaultMessageStore.class.getMethods())
            if (m.getName().equals("getOffsetInQueueByTime") && m.getParameterCount() == 4)
                for (Object constant : m.getParameterTypes()[3].getEnumConstants())
                    if (constant.toString().equals(boundary)) return String.valueOf(m.invoke(store, topic, queue, time, constant));
        throw new IllegalArgumentException(boundary);
    }

    private static String said(MessageExt m) {
        if (m == null) return "-";
        StringJoiner all = new StringJoiner("\t");
        all.add("topic=" + m.getTopic()).add("queue_id=" + m.getQueueId()).add("queue_offset=" + m.getQueueOffset());
        all.add("physical_offset=" + m.getCommitLogOffset()).add("store_timestamp=" + m.getStoreTimestamp()).add("born_timestamp=" + m.getBornTimestamp());
        all.add("born_host=" + host(m.getBornHost())).add("store_host=" + host(m.getStoreHost())).add("flag=" + m.getFlag()).add("sys_flag=" + m.getSysFlag());
        all.add("reconsume_times=" + m.getReconsumeTimes()).add("prepared_transaction_offset=" + m.getPreparedTransactionOffset()).add("body_crc=" + m.getBodyCRC());
        StringJoiner pairs = new StringJoiner("&");
        if (m.getProperties() != null) new TreeMap<>(m.getProperties()).forEach((k, v) -> pairs.add(hex(k) + "=" + hex(v)));
        return all.add("properties=" + pairs).toString();
    }

    private static String host(SocketAddress address) {
        String ip = ((InetSocketAddress) address).getAddress().getHostAddress();
        return (ip.indexOf(':') >= 0 ? "[" + ip + "]" : ip) + ":" + ((InetSocketAddress) address).getPort();
    }

    /** StoreUtil.TOTAL_PHYSICAL_MEMORY_SIZE is the machine's. DefaultMessageStore must not be compiled, or the constant is in its code. */
    private static void totalMemory(long bytes) throws Exception {
        Field u = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        u.setAccessible(true);
        sun.misc.Unsafe unsafe = (sun.misc.Unsafe) u.get(null);
        Field memory = StoreUtil.class.getField("TOTAL_PHYSICAL_MEMORY_SIZE");
        memory.get(null);
        unsafe.putLong(unsafe.staticFieldBase(memory), unsafe.staticFieldOffset(memory), bytes);
    }

    private static void copy(Path from, Path to) throws IOException {
        try (var walk = Files.walk(from)) {
            for (Path f : (Iterable<Path>) walk::iterator) {
                Path g = to.resolve(from.relativize(f).toString());
                if (Files.isDirectory(f)) Files.createDirectories(g); else Files.copy(f, g, StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    private static void delete(Path directory) throws IOException {
        try (var walk = Files.walk(directory)) { walk.sorted(Comparator.reverseOrder()).forEach(f -> f.toFile().delete()); }
    }

    private static Object get(Object o, String name) throws Exception { return field(o.getClass(), name).get(o); }
    private static void set(Object o, String name, Object value) throws Exception { field(o.getClass(), name).set(o, value); }

    private static Field field(Class<?> type, String name) throws NoSuchFieldException {
        for (; type != null; type = type.getSuperclass())
            for (Field f : type.getDeclaredFields())
                if (f.getName().equals(name)) { f.setAccessible(true); return f; }
        throw new NoSuchFieldException(name);
    }

    private static String text(String hex) { return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8); }
    private static String hex(String text) { return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8)); }
    private static long l(String s) { return Long.parseLong(s); }
    private static int i(String s) { return Integer.parseInt(s); }
}
