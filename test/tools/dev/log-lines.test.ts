import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLine, RecentEvents } from '../../../src/tools/dev/log-lines.ts'

const time = new Date(2026, 0, 2, 3, 4, 5).getTime()
const hostile = 'a\u001b[2J\r\nGET /forged 200\u202e\u009b'

const lines: readonly (readonly [fields: object, shown: RegExp])[] = [
  [
    { msg: 'request', method: 'GET', path: '/api/v1/posts', status: 200, ms: 3.149, user_id: 7 },
    /^03:04:05 {2}GET {4}\/api\/v1\/posts 200 3\.1 ms user 7$/,
  ],
  [{ msg: 'request', method: 'DELETE', path: '/x', status: 404, ms: 120.4 }, /DELETE \/x 404 120 ms nobody$/],
  [
    { msg: 'request', method: hostile, path: hostile, status: 400, ms: 1 },
    /\\u001b.*\\u000d\\u000aGET \/forged/,
  ],
  [
    { dev: 'event', event: 9, type: 'post.updated', id: 4, userId: 1, changed: ['title'], msg: 'event' },
    /event {2}post\.updated 4 \(title\) no\. 9, by user 1$/,
  ],
  [
    {
      dev: 'events',
      count: 4990,
      types: { 'post.created': 4980, [hostile]: 10 },
      first: 11,
      last: 5000,
      msg: 'events',
    },
    /event {2}4990 more events: post\.created 4980, a\\u001b[^\n]* 10 no\. 11 to 5000$/,
  ],
  [
    {
      dev: 'mail',
      to: hostile,
      subject: hostile,
      link: 'http://localhost:3000/dev/mail/3',
      isSent: false,
    },
    /^03:04:05 {2}mail {3}to a\\u001b[^\n]*: a\\u001b[^\n]* http:\/\/localhost:3000\/dev\/mail\/3 not sent[^\n]*$/,
  ],
  [{ level: 40, msg: 'careful', count: 3, why: hostile }, /warn {3}careful count=3 why=a\\u001b/],
  [
    {
      level: 50,
      msg: 'failed',
      err: { type: 'TypeError', message: hostile, stack: 'TypeError: x\n    at node:internal/x:1:2' },
    },
    /error {2}failed\n {10}TypeError: a\\u001b[^\n]*\n {10}at node:internal\/x:1:2$/,
  ],
]

test('log entries are shown as readable lines, and external texts cannot leave their line', () => {
  for (const [fields, shown] of lines) {
    const line = formatLine(JSON.stringify({ level: 30, time, ...fields }))
    assert.match(line, shown)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
    assert.doesNotMatch(line.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f\u202e]/)
  }
  for (const own of ['printed by the model', '{"a":1}', '{ broken', '']) assert.equal(formatLine(own), own)
})

test('the style alone determines colours', () => {
  const marked = formatLine(
    JSON.stringify({ time, msg: 'request', method: 'GET', path: '/', status: 500, ms: 1 }),
    (format, text) => `<${format}>${text}</>`,
  )
  assert.match(marked, /<red>500<\/>/)
})

test('an event that two processes read is shown once', () => {
  const recent = new RecentEvents()
  const line = (event: number) => JSON.stringify({ time, dev: 'event', event, at: '2026-01-02' })
  assert.deepEqual(
    [1, 1, 2, 1].map(event => recent.isRepeated(line(event))),
    [false, true, false, true],
  )
  for (let event = 3; event < 1000; event++) assert.equal(recent.isRepeated(line(event)), false)
  assert.equal(recent.isRepeated('{"msg":"\\"dev\\":\\"event\\""}'), false)
})
