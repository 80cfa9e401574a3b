// An Express application whose users sign in by a link that they get by mail; Auth.js keeps users, links and sessions.
//
// node main.js sign-in        a new user signs in; reports the session's cookie
// node main.js session COOKIE reports who has that session
// node main.js sign-out COOKIE

import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument } from "@aws-sdk/lib-dynamodb";
import { DynamoDBAdapter } from "@auth/dynamodb-adapter";
import { ExpressAuth } from "@auth/express";
import express from "express";

const client = DynamoDBDocument.from(new DynamoDB({}), {
  marshallOptions: { convertEmptyValues: true, removeUndefinedValues: true, convertClassInstanceToMap: true },
});
const mailed = [];
const mail = {
  id: "http-email",
  name: "Email",
  type: "email",
  maxAge: 86_400,
  sendVerificationRequest: ({ url }) => void mailed.push(url),
};
// A link that is used twice is refused, and Auth.js would log it.
const logger = { error: (error) => error.type === "Verification" || console.error(error) };
const options = { providers: [mail], adapter: DynamoDBAdapter(client), secret: "a secret", logger };
const app = express();
app.set("trust proxy", true);
app.use("/auth/*", ExpressAuth(options));

class Browser {
  constructor(address, cookie) {
    this.address = address;
    this.cookies = new Map(cookie ? [[cookie.split("=")[0], cookie]] : []);
  }

  async open(path, form) {
    const headers = { cookie: [...this.cookies.values()].join("; ") };
    const body = form && new URLSearchParams(form);
    const response = await fetch(new URL(path, this.address), {
      method: form ? "POST" : "GET",
      headers,
      body,
      redirect: "manual",
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair] = cookie.split(";");
      this.cookies.set(pair.split("=")[0], pair);
    }
    return response;
  }

  async send(path, form) {
    const { csrfToken } = await (await this.open("/auth/csrf")).json();
    return await this.open(path, { ...form, csrfToken });
  }

  async user() {
    const session = await (await this.open("/auth/session")).json();
    return session?.user?.email ?? null;
  }
}

const phases = {
  "sign-in": async (browser) => {
    await browser.send("/auth/signin/http-email", { email: "ada@example.com" });
    const before = await browser.user();
    await browser.open(mailed[0]);
    const user = await browser.user();
    const twice = new Browser(browser.address);
    const refused = await twice.open(mailed[0]);
    return {
      before,
      user,
      cookie: browser.cookies.get("authjs.session-token"),
      linkUsedTwice: [new URL(refused.headers.get("location")).searchParams.get("error"), await twice.user()],
    };
  },
  session: async (browser) => ({ user: await browser.user() }),
  "sign-out": async (browser) => {
    await browser.send("/auth/signout", {});
    return { user: await browser.user() };
  },
};

const [phase, cookie] = process.argv.slice(2);
const listener = app.listen(0, "127.0.0.1", async () => {
  const browser = new Browser(`http://127.0.0.1:${listener.address().port}`, cookie);
  console.log(JSON.stringify(await phases[phase](browser)));
  listener.closeAllConnections();
  listener.close();
});
