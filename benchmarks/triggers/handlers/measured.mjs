// What do the measured functions do? The same as those of measured.py, under Node.js.

import { openSync, writeSync } from "node:fs";

const notes = openSync(process.env.NOTES, "a");

const seconds = () => Number(process.hrtime.bigint()) / 1e9;

export async function note(event) {
  writeSync(notes, `${seconds().toFixed(6)} ${event.Records.length}\n`);
}

export async function begin(event) {
  const began = seconds();
  if (event.ends) process.exit(0);
  return began;
}
