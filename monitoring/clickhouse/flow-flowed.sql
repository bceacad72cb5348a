-- Traffic when it flowed: a row for each bucket in which bytes of a flow were, of the table that the output clickhouse fills.
-- Its parameters: from `begin` up to `end`, milliseconds since the epoch, and the length of a bucket, `step`, seconds; 0: one bucket is all.
-- Its columns: those of the table, `time`, the beginning of the bucket, and `bytes` and `packets`, the parts that are in it.
CREATE VIEW IF NOT EXISTS netgloss_flow_flowed AS
SELECT *, fromUnixTimestamp64Milli(toInt64(bucket), 'UTC') AS time,
  toUInt64(intDiv(toUInt128(all_bytes) * (till - first), length) - intDiv(toUInt128(all_bytes) * (since - first), length)) AS bytes,
  toUInt64(intDiv(toUInt128(all_packets) * (till - first), length) - intDiv(toUInt128(all_packets) * (since - first), length)) AS packets
FROM (
  SELECT *, last - first + 1 AS length, if({step:Int64} = 0, 100000000000000, 1000 * {step:Int64}) AS width,
    arrayJoin(range(toUInt64(intDiv(greatest(first, {begin:Int64}), width) * width), toUInt64(least(last, {end:Int64} - 1) + 1), toUInt64(width))) AS bucket,
    greatest(toInt64(bucket), {begin:Int64}, first) AS since, least(toInt64(bucket) + width, {end:Int64}, last + 1) AS till
  FROM (
    SELECT *, coalesce(flow_scaled_bytes, flow_bytes) AS all_bytes, coalesce(flow_scaled_packets, flow_packets) AS all_packets,
      toUnixTimestamp64Milli(timestamp) AS came, coalesce(flow_export_clock_offset, 0) AS ahead,
      toUnixTimestamp64Milli(toDateTime64(flow_start_timestamp, 3, 'UTC')) - ahead AS said_first,
      toUnixTimestamp64Milli(toDateTime64(flow_end_timestamp, 3, 'UTC')) - ahead AS said_last,
      coalesce(said_first <= said_last AND said_last - said_first <= 86400000
        AND said_last <= came + 2000 AND said_last >= came - 1800000, false) AS is_possible,
      if(is_possible, assumeNotNull(said_first), came) AS first, if(is_possible, assumeNotNull(said_last), came) AS last
    FROM netgloss_flow
    WHERE flow_record_type = '' AND timestamp >= fromUnixTimestamp64Milli({begin:Int64}) - INTERVAL 2 SECOND
      AND timestamp < fromUnixTimestamp64Milli({end:Int64}) + INTERVAL 88200 SECOND
  )
  WHERE last >= {begin:Int64} AND first < {end:Int64}
)
