// Runs `npzoo predict` on files in memory. Each run has its own instance of the program, so a run that fails leaves nothing behind.
'use strict';
importScripts(self.base + 'npzoo.js');

const module = fetch(self.base + 'npzoo.wasm').then(async (answer) => {
  if (!answer.ok) throw new Error(`npzoo.wasm cannot be loaded: ${answer.status}`);
  return WebAssembly.compile(await answer.arrayBuffer());
});
module.then(() => postMessage({ready: true}), (error) => postMessage({failed: String(error.message || error)}));

/** Runs the program once; returns its exit status, the lines that it printed, and the files that it wrote. */
async function run(files, args, wanted) {
  const compiled = await module, lines = [], printed = [];
  const program = await npzoo({
    thisProgram: 'npzoo',
    print: (line) => printed.push(line),
    printErr: (line) => {
      if (/^(read|predict) .*\d/.test(line)) postMessage({progress: line.trim()});
      else lines.push(line);
    },
    preRun: [(m) => { m.ENV.NPZOO_WEIGHTS = '/weights'; }],
    instantiateWasm: (imports, use) => {
      WebAssembly.instantiate(compiled, imports).then((instance) => use(instance, compiled));
      return {};
    },
  });
  for (const [name, bytes] of files) program.FS.writeFile(name, bytes);
  const status = program.callMain(args);
  const written = {};
  for (const name of wanted)
    if (program.FS.analyzePath(name).exists) written[name] = program.FS.readFile(name);
  return {status, lines, printed, files: written};
}

onmessage = async ({data}) => {
  const began = performance.now();
  try {
    const result = await run(data.files, data.args, data.wanted);
    postMessage({result: {...result, seconds: (performance.now() - began) / 1000}});
  } catch (error) {
    const out = /memory|OOM|allocat/i.test(String(error.message));
    postMessage({failed: out ? 'The table needs more memory than the browser gives this page.' : `The program stopped: ${error.message || error}`});
  }
};
