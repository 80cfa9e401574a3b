// Reads through a cluster, as often as a line comes: each time until an item was read 30 times, and prints how many of these were right.
//
// A read that meets a node that has just gone fails, or gets no reply: it is given up soon, and tried again.

import readline from "node:readline";

const READS = 30;
const TRIES = 1000;
const GIVEN_UP_MILLISECONDS = 300;

export async function readAsAsked(get) {
  const request = { TableName: "music", Key: { artist: { S: "Nina" } } };
  for await (const _ of readline.createInterface({ input: process.stdin })) {
    const found = [];
    for (let tries = 0; tries < TRIES && found.length < READS; tries += 1) {
      let timer;
      const given = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("no reply")), GIVEN_UP_MILLISECONDS); });
      try {
        found.push((await Promise.race([get(request), given])).Item);
      } catch {
        // it is tried again
      }
      clearTimeout(timer);
    }
    console.log(found.filter((item) => item?.year?.N === "1958").length);
  }
  process.exit(0);
}
