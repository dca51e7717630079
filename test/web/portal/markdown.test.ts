/** Markdown to HTML: text in a guide never becomes markup. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { highlight } from '../../../src/web/portal/guides/highlight.ts'
import { renderMarkdown } from '../../../src/web/portal/guides/markdown.ts'

const render = (text: string, resolve = (href: string): string | undefined => href) =>
  renderMarkdown(text, resolve).body.text

test('HTML in a guide is escaped, except for anchors', () => {
  const html = render(
    'a <b>bold</b> <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n<a id="CODE"></a>`CODE`',
  )
  assert.doesNotMatch(html, /<(b|script|img)\b/)
  assert.match(html, /&lt;script&gt;/)
  assert.match(html, /<a id="CODE"><\/a><code>CODE<\/code>/)
  assert.doesNotMatch(render('<a id="x" onclick="y">z</a>'), /<a id/)
})

test('a link has its resolved target, or becomes text if it has none', () => {
  const resolve = (href: string) => (href === 'rest.md#lists' ? '/docs/guides/rest#lists' : undefined)
  const html = render('[lists](rest.md#lists) [bad](javascript:alert(1)) ![logo](x.png)', resolve)
  assert.equal(html, '<p><a href="/docs/guides/rest#lists">lists</a> bad logo</p>\n')
  assert.match(render('["](https://example.com/"onclick="x)'), /href="https:\/\/example\.com\/[^"]*"/)
})

test('headings have the ids that GitHub gives them, and the search index gets the text below', () => {
  const { body, headings, sections } = renderMarkdown(
    '# The page\n\nFirst.\n\n## Who may, & `why`\n\n- one **thing**\n\n| a | b |\n|---|---|\n| c | [d](e.md) |\n',
    () => undefined,
  )
  assert.match(body.text, /<h2 id="who-may--why">Who may, &amp; <code>why<\/code><\/h2>/)
  assert.deepEqual(
    headings.map(({ id }) => id),
    ['the-page', 'who-may--why'],
  )
  assert.deepEqual(
    sections.map(({ text }) => text),
    ['First. ', 'one thing a b c d '],
  )
})

test('highlighting does not change the text of code', () => {
  const plain = (html: string) => html.replaceAll(/<[^>]*>/g, '')
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const codes = {
    ts: `import { a } from "b" // c <d>\nconst x = \`1 \${y}\` + 2.5`,
    json: '{ "a": "b", "c": [1, true, null] }',
    sh: 'curl "http://x" -H "A: b" # comment',
    graphql: 'query ($id: ID) { a(id: $id) @include(if: true) }',
    none: '<a> & "b"',
  }
  for (const [language, code] of Object.entries(codes)) {
    const html = highlight(code, language).text
    assert.equal(plain(html).replaceAll('&quot;', '"').replaceAll('&#39;', "'"), escaped(code), language)
    assert.equal(html.includes('<span'), language !== 'none', language)
  }
  assert.match(highlight('{"a": "b"}', 'json').text, /class="name">&quot;a&quot;<\/span>/)
})
