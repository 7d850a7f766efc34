import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Kafka's own word on messages, for tests: reads each with its message class, writes it again, and says it as JSON.
 * A request a line on standard input: CLASS TAB VERSION TAB HEX; its answer: "ok" TAB HEX (as written again) TAB JSON, or "error".
 */
public class KafkaMessages {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        java.io.PrintStream out = new java.io.PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                answer = "ok\t" + answer(line.split("\t", -1));
            } catch (Throwable e) {
                answer = "error\t" + String.valueOf(e).replaceAll("\\s+", " ");
            }
            out.println(answer);
        }
    }

    static String answer(String[] q) throws Exception {
        Class<?> type = Class.forName(q[0]);
        short version = Short.parseShort(q[1]);
        ByteBufferAccessor bytes = new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(q[2])));
        Message message = (Message) type.getConstructor(Readable.class, short.class).newInstance(bytes, version);
        ByteBuffer again = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] written = new byte[again.remaining()];
        again.get(written);
        Method toJson = Class.forName(q[0] + "JsonConverter").getMethod("write", type, short.class);
        return HexFormat.of().formatHex(written) + "\t" + toJson.invoke(null, message, version);
    }
}
