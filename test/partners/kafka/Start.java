/** Formats the storage and starts the broker in one JVM: start-up costs one JVM less. */
public final class Start {
  public static void main(String[] args) throws Exception {
    String config = args[0];
    int code = kafka.tools.StorageTool.execute(new String[] {
      "format", "--cluster-id", "bmV0Z2xvc3MtdGVzdC0wMQ", "--standalone", "--ignore-formatted", "--config", config,
      "--add-scram", "SCRAM-SHA-256=[name=netgloss,password=secret]",
      "--add-scram", "SCRAM-SHA-512=[name=netgloss,password=secret]",
    }, System.out);
    if (code != 0) System.exit(code);
    kafka.Kafka.main(new String[] {config});
  }
}
