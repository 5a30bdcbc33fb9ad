#!/usr/bin/env node
/** The package's bin, in syntax that an old Node reads too: says what to do when Node is too old, else hands over to main. */
import { existsSync, mkdirSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

/** Statements that name their values by number came with 24.7. */
const wanted = [24, 7];

function run() {
  keepCompiled();
  // A checkout runs its sources; Node strips no types inside node_modules, so the package runs what was built.
  const source = new URL('./main.ts', import.meta.url);
  const entry = existsSync(source) ? source : new URL('../dist/src/main.js', import.meta.url);
  findAtOnce(entry);
  return import(entry.href).then((main) => main.main());
}

/** Files of the product name each other in full: that each is looked for first is a tenth of the time of a start. */
function findAtOnce(entry) {
  const root = new URL('..', entry).href;
  const [ending, format] = entry.pathname.endsWith('.ts') ? ['.ts', 'module-typescript'] : ['.js', 'module'];
  nodeModule.registerHooks({
    resolve(specifier, context, next) {
      const isOwn =
        specifier.startsWith('.') && specifier.endsWith(ending) && String(context.parentURL).startsWith(root);
      if (!isOwn) return next(specifier, context);
      return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true };
    },
  });
}

/**
 * What is compiled once is read at the next start, in threads too: they look for the place in the environment. It is a
 * folder of this user: what stands in one that is shared may be the code of somebody else.
 */
function keepCompiled() {
  const folder = cacheFolder();
  if (folder === undefined) return;
  const { directory } = nodeModule.enableCompileCache(folder);
  if (directory && !process.env.NODE_COMPILE_CACHE) process.env.NODE_COMPILE_CACHE = dirname(directory);
}

/** Undefined for a user without a home, who compiles anew each time. */
function cacheFolder() {
  try {
    const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
    if (!isAbsolute(caches)) return undefined;
    const folder = join(caches, 'svc');
    for (const one of [caches, folder]) if (!existsSync(one)) mkdirSync(one, { mode: 0o700 });
    return folder;
  } catch {
    return undefined;
  }
}

function refuse() {
  console.error(
    `svc needs Node ${wanted.join('.')} or newer; this is Node ${process.versions.node} (${process.execPath}).`,
  );
  console.error('Install it from https://nodejs.org/. In a checkout, "npm run svc -- …" brings the right one.');
  return Promise.resolve(1);
}

const [major, minor] = process.versions.node.split('.').map(Number);
const isOld = major < wanted[0] || (major === wanted[0] && minor < wanted[1]);
const start = isOld ? refuse : run;

start().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
