package shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.model.ChecksumMode;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.S3Object;
import software.amazon.awssdk.services.s3.model.StorageClass;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;
import software.amazon.awssdk.transfer.s3.S3TransferManager;

/** One bucket of S3 with the plain client, the transfer manager and the presigner. */
final class Objects implements AutoCloseable {
  private static final long PART_BYTES = 5 * 1024 * 1024;

  private final String bucket;
  private final S3Client client;
  private final S3AsyncClient inParts;
  private final S3Presigner presigner;

  Objects(URI endpoint, AwsCredentialsProvider credentials, String bucket) {
    this.bucket = bucket;
    client = S3Client.builder().endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials)
        .forcePathStyle(true).build();
    inParts = S3AsyncClient.builder().endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials)
        .forcePathStyle(true).multipartEnabled(true)
        .multipartConfiguration(m -> m.minimumPartSizeInBytes(PART_BYTES).thresholdInBytes(PART_BYTES)).build();
    presigner = S3Presigner.builder().endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials)
        .serviceConfiguration(S3Configuration.builder().pathStyleAccessEnabled(true).build()).build();
  }

  /** Closes all but the asynchronous client, which would wait two seconds for further requests; its threads end with the program. */
  @Override
  public void close() {
    presigner.close();
    client.close();
  }

  void makeBucket() {
    client.createBucket(b -> b.bucket(bucket));
    client.waiter().waitUntilBucketExists(b -> b.bucket(bucket));
  }

  byte[] read(String key) {
    return client.getObjectAsBytes(g -> g.bucket(bucket).key(key)).asByteArray();
  }

  String text(String key) {
    return client.getObjectAsBytes(g -> g.bucket(bucket).key(key)).asUtf8String();
  }

  void write(String key, String content) {
    client.putObject(p -> p.bucket(bucket).key(key), RequestBody.fromString(content));
  }

  List<String> keys(String prefix) {
    return client.listObjectsV2Paginator(l -> l.bucket(bucket).prefix(prefix).maxKeys(2)).contents().stream()
        .map(S3Object::key).toList();
  }

  /** Objects from their first write to their deletion. */
  Map<String, Object> use() throws IOException, InterruptedException {
    var key = "archive/ü 1+.json";
    var etag = client.putObject(p -> p.bucket(bucket).key(key).storageClass(StorageClass.GLACIER)
        .contentType("application/json").metadata(Map.of("origin", "stream")), RequestBody.fromString("{}")).eTag();
    var told = new ArrayList<Object>();
    try (ResponseInputStream<GetObjectResponse> got =
        client.getObject(g -> g.bucket(bucket).key(key).checksumMode(ChecksumMode.ENABLED))) {
      var head = got.response();
      told.addAll(List.of(head.eTag().equals(etag), head.storageClassAsString(), head.contentType(), head.metadata().get("origin")));
      told.add(new String(got.readAllBytes()));
    }
    write("archive/2", "two");
    write("archive/in/3", "three");
    var page = client.listObjectsV2(l -> l.bucket(bucket).prefix("archive/").delimiter("/"));
    var folders = List.of(page.commonPrefixes().stream().map(one -> one.prefix()).toList(),
        page.contents().stream().map(one -> one.size().intValue()).toList());
    return Map.of("told", told, "keys", keys("archive/"), "folders", folders, "uploaded", uploaded(),
        "presigned", presigned("archive/2"), "deleted", deleted("archive/2"));
  }

  /** An upload in two parts: its size, parts, the content of a range, and whether a download brings all. */
  private List<Object> uploaded() throws IOException {
    var content = new byte[(int) PART_BYTES + 1000];
    for (int place = 0; place < content.length; place++) {
      content[place] = (byte) ('0' + place % 10);
    }
    Path file = Files.createTempFile("long", "");
    try (var manager = S3TransferManager.builder().s3Client(inParts).build()) {
      manager.upload(u -> u.putObjectRequest(p -> p.bucket(bucket).key("long")).requestBody(AsyncRequestBody.fromBytes(content)))
          .completionFuture().join();
      manager.downloadFile(d -> d.getObjectRequest(g -> g.bucket(bucket).key("long")).destination(file)).completionFuture().join();
      var head = client.headObject(h -> h.bucket(bucket).key("long"));
      var range = client.getObjectAsBytes(g -> g.bucket(bucket).key("long").range("bytes=5242880-5242889")).asUtf8String();
      var parts = Integer.parseInt(head.eTag().replaceAll(".*-|\"", ""));
      return List.of(head.contentLength(), parts, range, Arrays.equals(content, Files.readAllBytes(file)));
    } finally {
      Files.delete(file);
    }
  }

  /** What a presigned URL gives to a program without keys. */
  private String presigned(String key) throws IOException, InterruptedException {
    var url = presigner.presignGetObject(p -> p.signatureDuration(Duration.ofMinutes(1))
        .getObjectRequest(g -> g.bucket(bucket).key(key))).url().toString();
    var request = HttpRequest.newBuilder(URI.create(url)).build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  /** The names of the errors of an object that was deleted, and of a bucket that never was. */
  private List<Object> deleted(String key) {
    client.deleteObject(d -> d.bucket(bucket).key(key));
    return List.of(Backups.refusal(() -> read(key)),
        Backups.refusal(() -> client.getObjectAsBytes(g -> g.bucket("no-such-bucket").key(key))));
  }
}
