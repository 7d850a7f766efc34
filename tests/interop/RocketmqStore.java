import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.MessageArrivingListener;
import org.apache.rocketmq.store.StoreUtil;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * RocketmqStore STORE PROPERTIES: loads STORE, a copy that may be changed, and answers a line each:
 *   time TOPIC QUEUE MS BOUNDARY (- in 4.9)     range TOPIC QUEUE     pull TOPIC QUEUE OFFSET MOST
 * What the store throws is answered as !ClassName. The first line out is the machine's memory, in bytes.
 */
public final class RocketmqStore {
    private static DefaultMessageStore store;

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);
        Properties properties = new Properties();
        try (FileReader in = new FileReader(args[1])) { properties.load(in); }
        properties.setProperty("enableCompaction", "false");
        properties.setProperty("timerWheelEnable", "false");
        MessageStoreConfig config = new MessageStoreConfig();
        MixAll.properties2Object(properties, config);
        config.setStorePathRootDir(args[0]);
        config.setStorePathCommitLog(args[0] + File.separator + "commitlog");
        config.setHaListenPort(0);
        Constructor<?> make = DefaultMessageStore.class.getConstructors()[0];
        MessageArrivingListener quiet = (a, b, c, d, e, f, g) -> { };
        BrokerStatsManager stats = new BrokerStatsManager("kidx", false);
        store = (DefaultMessageStore) (make.getParameterCount() == 4 ? make.newInstance(config, stats, quiet, new BrokerConfig())
            : make.newInstance(config, stats, quiet, new BrokerConfig(), new ConcurrentHashMap<>()));
        boolean loaded = store.load();
        Field shutdown = DefaultMessageStore.class.getDeclaredField("shutdown");
        shutdown.setAccessible(true);
        shutdown.set(store, false);
        out.println(StoreUtil.TOTAL_PHYSICAL_MEMORY_SIZE);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = in.readLine()) != null; ) out.println(loaded ? answer(line.split("\t")) : "!NotLoaded");
        Runtime.getRuntime().halt(0);                   // the store leaves threads behind
    }

    private static String answer(String[] f) {
        try {
            int queue = Integer.parseInt(f[2]);
            switch (f[0]) {
                case "range": return store.getMinOffsetInQueue(f[1], queue) + "\t" + store.getMaxOffsetInQueue(f[1], queue);
                case "pull":
                    GetMessageResult r = store.getMessage("kidx", f[1], queue, Long.parseLong(f[3]), Integer.parseInt(f[4]), null);
                    String said = r.getStatus() + "\t" + r.getNextBeginOffset() + "\t" + r.getMessageCount() + "\t" + r.getBufferTotalSize() + "\t" + r.isSuggestPullingFromSlave();
                    r.release();
                    return said;
                default: return time(f[1], queue, Long.parseLong(f[3]), f[4]);
            }
        } catch (Throwable e) {
            return "!" + (e instanceof java.lang.reflect.InvocationTargetException ? e.getCause() : e).getClass().getSimpleName();
        }
    }

    private static String time(String topic, int queue, long time, String boundary) throws Exception {
        if (boundary.equals("-")) return String.valueOf(store.getOffsetInQueueByTime(topic, queue, time));
        for (Method m : DefaultMessageStore.class.getMethods())
            if (m.getName().equals("getOffsetInQueueByTime") && m.getParameterCount() == 4)
                for (Object constant : m.getParameterTypes()[3].getEnumConstants())
                    if (constant.toString().equals(boundary)) return String.valueOf(m.invoke(store, topic, queue, time, constant));
        throw new IllegalArgumentException(boundary);
    }
}
