// The console's own API: requests with the token, and the stream of differences, which starts again when it breaks.

const KEY = "ostinato-token";

/** The token of the start address. It leaves the address bar and the history at once, and stays in this tab. */
function readToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY) ?? "";
}

const token = readToken();
addEventListener("hashchange", () => location.hash.startsWith("#token=") && location.reload());
export const canWrite = token !== "";
const headers = () => (token ? { "X-Ostinato-Token": token } : {});

/** An error that the console named: code, message, text with a caret, hint. */
export class Refused extends Error {
  constructor(error) {
    super(error.message);
    Object.assign(this, error);
  }
}

async function checked(response) {
  if (response.ok) return response;
  let error = { code: `HTTP_${response.status}`, message: "the console refused the request", hint: "" };
  try {
    error = (await response.json()).error ?? error;
  } catch {
    // not one of our answers
  }
  throw new Refused(error);
}

export const ask = async (path) => (await checked(await fetch(path, { headers: headers() }))).json();
export const picture = async (path) => (await checked(await fetch(path, { headers: headers() }))).blob();

export async function send(path, body) {
  const options = { method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return (await checked(await fetch(path, options))).json();
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `take(delta)` for each difference, for ever. `tell(state, words)` says how the connection is. */
export async function listen(take, tell) {
  let last = "";
  for (let wait = 500; ; wait = Math.min(wait * 1.7, 5000)) {
    try {
      const response = await checked(await fetch("/api/events", { headers: { ...headers(), "Last-Event-ID": last } }));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const event = /^id: (\S+)\ndata: (.*)$/s.exec(block);
          if (!event) continue;
          last = event[1];
          take(JSON.parse(event[2]));
        }
        tell("live", "live");
        wait = 500;
      }
      tell("lost", "the console has stopped; waiting for it");
    } catch (error) {
      tell("lost", error instanceof Refused ? `${error.code}: ${error.message}` : "no connection to the console; trying again");
    }
    await pause(wait);
  }
}
