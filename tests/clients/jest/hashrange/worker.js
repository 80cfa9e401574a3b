// Gives each worker a database of its own: an access key of 12 digits is an account, and each account has its own tables.
process.env.AWS_ACCESS_KEY_ID = process.env.JEST_WORKER_ID.padStart(12, "0");
process.env.AWS_SECRET_ACCESS_KEY = "any";
process.env.AWS_REGION = "us-east-1";
delete process.env.AWS_PROFILE; // A developer's profile would replace the access key.
delete process.env.AWS_SESSION_TOKEN;
