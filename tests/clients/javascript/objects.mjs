// One bucket of S3 with the AWS SDK for JavaScript v3, its pager, its upload in parts and its presigner.
import {
  CreateBucketCommand, DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, paginateListObjectsV2, PutObjectCommand, waitUntilBucketExists,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { createHash } from "node:crypto";
import { Readable } from "node:stream";

const PART_BYTES = 5 * 1024 * 1024;

export class Objects {
  constructor(client, bucket) {
    this.client = client;
    this.bucket = bucket;
  }

  send(Command, members) {
    return this.client.send(new Command({ Bucket: this.bucket, ...members }));
  }

  async makeBucket() {
    await this.send(CreateBucketCommand, {});
    await waitUntilBucketExists({ client: this.client, maxWaitTime: 60 }, { Bucket: this.bucket });
  }

  async read(Key) {
    const { Body } = await this.send(GetObjectCommand, { Key });
    return Buffer.from(await Body.transformToByteArray());
  }

  write(Key, Body) {
    return this.send(PutObjectCommand, { Key, Body });
  }

  async keys(Prefix) {
    const found = [];
    for await (const page of paginateListObjectsV2({ client: this.client, pageSize: 2 }, { Bucket: this.bucket, Prefix })) {
      found.push(...(page.Contents ?? []).map((one) => one.Key));
    }
    return found;
  }

  /** Objects from their first write to their deletion. */
  async use() {
    const archived = { Key: "archive/ü 1+.json", Body: "{}", StorageClass: "GLACIER", ContentType: "application/json", Metadata: { origin: "stream" } };
    const written = await this.send(PutObjectCommand, archived);
    const got = await this.send(GetObjectCommand, { Key: archived.Key, ChecksumMode: "ENABLED" });
    const told = [got.ETag === written.ETag, got.StorageClass, got.ContentType, got.Metadata.origin, await got.Body.transformToString()];
    await this.write("archive/2", "two");
    await this.write("archive/in/3", "three");
    const { CommonPrefixes, Contents } = await this.page({ Prefix: "archive/", Delimiter: "/" });
    return {
      told,
      keys: await this.keys("archive/"),
      folders: [CommonPrefixes.map((one) => one.Prefix), Contents.map((one) => one.Size)],
      uploaded: await this.upload(),
      presigned: await this.presigned("archive/2"),
      deleted: await this.deleted("archive/2"),
    };
  }

  async page(members) {
    for await (const page of paginateListObjectsV2({ client: this.client }, { Bucket: this.bucket, ...members })) return page;
  }

  /** A stream of unknown length in two parts: its size, parts, the content of a range, and whether all has come. */
  async upload() {
    const content = Buffer.alloc(PART_BYTES + 1000, "0123456789");
    const pieces = Array.from({ length: 6 }, (_, number) => content.subarray(number * 1024 ** 2, (number + 1) * 1024 ** 2));
    const heard = new Set();
    const upload = new Upload({
      client: this.client, partSize: PART_BYTES, params: { Bucket: this.bucket, Key: "long", Body: Readable.from(pieces, { objectMode: false }) },
    });
    upload.on("httpUploadProgress", (progress) => heard.add(progress.part));
    await upload.done();
    const { ContentLength } = await this.send(HeadObjectCommand, { Key: "long" });
    const range = await this.send(GetObjectCommand, { Key: "long", Range: "bytes=5242880-5242889" });
    const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
    return [ContentLength, heard.size, await range.Body.transformToString(), digest(await this.read("long")) === digest(content)];
  }

  /** What a presigned URL gives to a program without keys. */
  async presigned(Key) {
    const url = await getSignedUrl(this.client, new GetObjectCommand({ Bucket: this.bucket, Key }), { expiresIn: 60 });
    return (await fetch(url)).text();
  }

  /** The names of the errors of an object that was deleted, and of a bucket that never was. */
  async deleted(Key) {
    await this.send(DeleteObjectCommand, { Key });
    const refusals = [];
    for (const members of [{ Key }, { Key, Bucket: "no-such-bucket" }]) {
      await this.send(GetObjectCommand, members).catch((error) => refusals.push(error.name));
    }
    return refusals;
  }
}
