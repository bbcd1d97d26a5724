// Loaded with `node -r`: whatever the program listens on, it listens on loopback alone, and it ends when told.
// kinesis-local has no option for the address, and would offer itself to the whole network.
"use strict";

const net = require("node:net");

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function onLoopback(...given) {
  const [first, ...rest] = given;
  if (typeof first === "object" && first !== null && "port" in first) {
    return listen.call(this, { ...first, host: "127.0.0.1" }, ...rest);
  }
  if (typeof first === "number" || /^\d+$/.test(first)) {
    const heard = rest.filter((word) => typeof word === "function");
    return listen.call(this, { port: Number(first), host: "127.0.0.1" }, ...heard);
  }
  return listen.apply(this, given);
};

// It would wait for the last kept-alive connection of its clients before it ends; it has nothing to keep.
process.on("SIGTERM", () => process.kill(process.pid, "SIGKILL"));
