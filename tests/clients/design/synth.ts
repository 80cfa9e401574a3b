// Synthesises the stacks of the file `stacks.ts` in one app, and prints the template of each as JSON.
import { App } from 'aws-cdk-lib';
import * as stacks from './stacks';

declare const console: { log(text: string): void }; // without the types of Node

const app = new App({ analyticsReporting: false });
const ids = Object.keys(stacks);
for (const [id, stack] of Object.entries(stacks)) {
  new stack(app, id, { env: { account: '123456789012', region: 'eu-west-1' } });
}
const assembly = app.synth();
console.log(JSON.stringify(ids.map((id) => assembly.getStackByName(id).template)));
