// An Express application that counts each visitor's views in a session, which connect-dynamodb keeps.
//
// node main.js [cookie] visits the application three times, from a new browser or with a cookie of an earlier run.

const express = require("express");
const session = require("express-session");
const DynamoDBStore = require("connect-dynamodb")({ session });

const options = { table: "myapp-sessions", readCapacityUnits: 25, writeCapacityUnits: 25 };
const app = express();
app.use(
  session({ store: new DynamoDBStore(options), secret: "keyboard cat", resave: false, saveUninitialized: true }),
);
app.get("/", (request, response) => {
  request.session.views = (request.session.views ?? 0) + 1;
  response.json(request.session.views);
});
app.get("/logout", (request, response, next) =>
  request.session.destroy((error) => (error ? next(error) : response.json("logged out"))),
);

async function visit(address, cookie) {
  const response = await fetch(address, { headers: cookie ? { cookie } : {} });
  const [given] = response.headers.getSetCookie();
  return { said: await response.json(), cookie: given?.split(";")[0] ?? cookie };
}

const listener = app.listen(0, "127.0.0.1", async () => {
  const address = `http://127.0.0.1:${listener.address().port}`;
  let cookie = process.argv[2];
  const views = [];
  for (let count = 0; count < 3; count++) {
    const page = await visit(address, cookie);
    views.push(page.said);
    cookie = page.cookie;
  }
  const stranger = await visit(address);
  await visit(`${address}/logout`, stranger.cookie);
  const afterLogout = await visit(address, stranger.cookie);
  await visit(`${address}/logout`, afterLogout.cookie);
  console.log(JSON.stringify({ views, cookie, stranger: stranger.said, afterLogout: afterLogout.said }));
  listener.close();
});
