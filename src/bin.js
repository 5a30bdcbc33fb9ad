#!/usr/bin/env node
/** The package's bin, in syntax that an old Node reads too: says what to do when Node is too old, else hands over to main. */
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname } from 'node:path';

const wantedMajor = 24;

function run() {
  keepCompiled();
  // A checkout runs its sources; Node strips no types inside node_modules, so the package runs what was built.
  const source = new URL('./main.ts', import.meta.url);
  const entry = existsSync(source) ? source : new URL('../dist/src/main.js', import.meta.url);
  return import(entry.href).then((main) => main.main());
}

/** What is compiled once is read at the next start, in threads too: they look for the place in the environment. */
function keepCompiled() {
  const { directory } = nodeModule.enableCompileCache();
  if (directory && !process.env.NODE_COMPILE_CACHE) process.env.NODE_COMPILE_CACHE = dirname(directory);
}

function refuse() {
  console.error(`svc needs Node ${wantedMajor} or newer; this is Node ${process.versions.node} (${process.execPath}).`);
  console.error('Install it from https://nodejs.org/. In a checkout, "npm run svc -- …" brings the right one.');
  return Promise.resolve(1);
}

const start = Number(process.versions.node.split('.')[0]) < wantedMajor ? refuse : run;

start().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
