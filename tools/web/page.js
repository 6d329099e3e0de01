'use strict';
const $ = (id) => document.getElementById(id);
const kShownRows = 12;
let worker = null, table = null, urls = [];

function startWorker() {
  // A worker from a blob has the policy of the page: it can load the page's own files only.
  const base = JSON.stringify(new URL('.', location).href);
  const source = new Blob([`self.base = ${base}; importScripts(self.base + 'worker.js');`], {type: 'text/javascript'});
  worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = ({data}) => {
    if (data.progress) $('status').textContent = data.progress.replace(/\s+/g, ' ');
    if (data.failed) showError(data.failed);
    if (data.result) show(data.result);
  };
  worker.onerror = (event) => showError(`The program cannot start: ${event.message || 'open this page from a web server'}`);
}

function busy(on) {
  $('run').disabled = on || !table;
  $('stop').hidden = !on;
  document.body.toggleAttribute('data-busy', on);
}

function clear() {
  for (const url of urls) URL.revokeObjectURL(url);
  urls = [];
  for (const id of ['error', 'chart', 'result']) $(id).hidden = true;
  for (const id of ['summary', 'warnings', 'facts', 'downloads', 'rows', 'more', 'status', 'error']) $(id).replaceChildren();
}

function showError(text) {
  busy(false);
  $('status').textContent = '';
  $('result').hidden = $('error').hidden = false;
  $('details').hidden = true;
  $('error').textContent = text;
}

/** Words of a command line; quotes keep spaces. */
function words(text) {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3]);
}

/** The first records of a table: cells between separators, quoted or not. */
function records(text, count) {
  const first = text.slice(0, text.indexOf('\n') < 0 ? text.length : text.indexOf('\n'));
  const separator = [',', ';', '\t'].reduce((best, s) => first.split(s).length > first.split(best).length ? s : best);
  const found = [];
  let row = [], cell = '', quoted = false;
  for (let i = 0; i < text.length && found.length < count; ++i) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === separator) { row.push(cell); cell = ''; }
    else if (c === '\n') { found.push([...row, cell.replace(/\r$/, '')]); row = []; cell = ''; }
    else cell += c;
  }
  if (found.length < count && (cell || row.length)) found.push([...row, cell]);
  return found;
}

async function bytesOf(file) {
  const stream = file.name.endsWith('.gz') ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Takes a file; its name goes to the program without a path, and without .gz. */
async function take(file) {
  try {
    table = {name: file.name.replace(/\.gz$/, '').replace(/[^\w.\- ]/g, '_').replace(/^[-.]+/, '') || 'table.csv', bytes: await bytesOf(file)};
  } catch (error) {
    table = null;
    showError(`${file.name} cannot be read: ${error.message}`);
    return false;
  }
  $('chosen').textContent = `${file.name}, ${table.bytes.length.toLocaleString('en')} bytes`;
  busy(false);
  return true;
}

function predict() {
  if (!table) return;
  clear();
  busy(true);
  $('status').textContent = 'computing';
  const ending = table.name.match(/\.(csv|tsv|txt)$/i);
  table.out = ending ? table.name.slice(0, ending.index) + '.filled' + ending[0] : `${table.name}.filled.csv`;
  table.plotted = true;
  send();
}

function send() {
  const horizon = $('horizon').value.trim(), grid = $('grid').value.trim();
  table.horizon = horizon !== '';
  table.own = ['--verbose', '--out', table.out, ...(table.plotted ? ['--plot', 'chart.svg'] : [])];
  const args = ['predict', table.name, ...table.own, ...(horizon ? ['--horizon', horizon] : []), ...(grid ? ['--grid', grid] : []), ...words($('options').value)];
  worker.postMessage({files: [[table.name, table.bytes]], args, wanted: [table.out, 'chart.svg']});
}

function show(result) {
  const fault = result.lines.find((line) => line.startsWith('npzoo: error: '));
  const error = fault && fault.slice('npzoo: error: '.length).replace(` ${table.own.join(' ')}`, '');  // flags that the user has not given
  if (error && error.includes('[plot]') && table.plotted) {  // the table can be filled all the same
    table.plotted = false;
    table.plotFault = error;
    return send();
  }
  busy(false);
  if (!result.files[table.out]) return showError([error || result.lines.join('\n'), ...result.printed].join('\n').trim() || `The program ended with status ${result.status}.`);
  $('result').hidden = $('details').hidden = false;
  $('status').textContent = `${result.seconds.toFixed(2)} s`;
  const facts = result.lines.filter((line) => line.startsWith('npzoo: ')).map((line) => line.slice(7));
  const warnings = facts.filter((fact) => fact.startsWith('warning: '));
  if (!table.plotted) warnings.push(table.plotFault);
  const plain = facts.filter((fact) => !fact.startsWith('warning: '));
  $('summary').textContent = (plain.find((fact) => fact.startsWith('columns: ')) || plain[0] || '').replace('columns: ', 'Predicted ');
  list('warnings', warnings);
  list('facts', plain.concat(result.printed));
  const decoder = new TextDecoder();
  const svg = result.files['chart.svg'];
  offer(result.files[table.out], table.out, 'text/csv', 'Download the table');
  if (svg) {
    $('chart').src = offer(svg, 'chart.svg', 'image/svg+xml', 'Download the chart');
    $('chart').alt = `Chart of the predictions for ${table.name}`;
    $('chart').onload = () => {  // narrow screens scroll a chart, and forecasts are at its end
      $('chart').style.minWidth = `${$('chart').naturalWidth}px`;
      $('chart').parentElement.scrollLeft = table.horizon ? $('chart').naturalWidth : 0;
    };
    $('chart').hidden = false;
  }
  showRows(decoder.decode(result.files[table.out]));
}

function list(id, texts) {
  $(id).replaceChildren(...texts.map((text) => Object.assign(document.createElement('li'), {textContent: text})));
}

/** Adds a download; returns its address. */
function offer(bytes, name, type, label) {
  const url = URL.createObjectURL(new Blob([bytes], {type}));
  urls.push(url);
  $('downloads').append(Object.assign(document.createElement('a'), {href: url, download: name, textContent: label}));
  return url;
}

/** Shows the header and some rows, from two rows before the first gap on. */
function showRows(text) {
  const all = records(text, 100001), header = all.shift() || [];
  const made = header.map((name) => /^(mean|std|q[\d.]+)_/.test(name));
  const given = header.map((name, column) => made[column] && name.startsWith('mean_') ? header.indexOf(name.slice(5)) : -1).filter((c) => c >= 0);
  const first = Math.max(0, all.findIndex((row) => given.some((column) => row[column] === '')));
  const start = Math.max(0, Math.min(first - 2, all.length - kShownRows));
  const line = (cells, tag) => {
    const row = document.createElement('tr');
    row.append(...cells.map((cell, i) => Object.assign(document.createElement(tag), {textContent: cell, className: made[i] ? 'made' : ''})));
    return row;
  };
  $('rows').replaceChildren(line(header, 'th'), ...all.slice(start, start + kShownRows).map((cells) => line(cells, 'td')));
  $('more').textContent = all.length > kShownRows ? `Rows ${start + 1} to ${start + kShownRows} of ${all.length.toLocaleString('en')}${all.length === 100000 ? ' or more' : ''}.` : '';
}

$('form').onsubmit = (event) => { event.preventDefault(); predict(); };
$('file').onchange = async () => { if ($('file').files[0] && await take($('file').files[0])) predict(); };
$('stop').onclick = () => { worker.terminate(); startWorker(); busy(false); $('status').textContent = 'stopped'; };
for (const button of document.querySelectorAll('[data-example]'))
  button.onclick = async () => {
    const answer = await fetch(button.dataset.example);
    $('horizon').value = button.dataset.horizon || '';
    $('grid').value = $('options').value = '';
    if (await take(new File([await answer.arrayBuffer()], button.dataset.example))) predict();
  };
for (const kind of ['dragover', 'dragleave', 'drop'])
  document.addEventListener(kind, async (event) => {
    event.preventDefault();
    $('drop').classList.toggle('over', kind === 'dragover');
    if (kind === 'drop' && event.dataTransfer.files[0] && await take(event.dataTransfer.files[0])) predict();
  });
startWorker();
