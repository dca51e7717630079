/** Any theme colour stays legible, as text and as a background. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contrast, grounds, palettes } from '../../../src/base/theme.ts'
import { stylesheet } from '../../../src/web/pages/frame/stylesheet.ts'

const colour = fc.integer({ min: 0, max: 0xffffff }).map(value => `#${value.toString(16).padStart(6, '0')}`)
const themed = (value: string) => ({ name: 'Example', logo: undefined, colour: value })

test('contrast is computed as WCAG defines it', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21)
  assert.equal(contrast('#ffffff', '#ffffff'), 1)
  // The figure for #777777 on white in WCAG’s understanding documents.
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48')
  assert.equal(contrast('#ff0000', '#ffffff').toFixed(2), '4.00')
})

test('for any colour, links on the page and text on buttons have a contrast of 4.5 or more', () => {
  fc.assert(
    fc.property(colour, value => {
      const rendered = palettes(themed(value))
      for (const mode of ['light', 'dark'] as const) {
        const { accent, onAccent } = rendered[mode]
        assert.ok(contrast(accent, grounds[mode]) >= 4.5, `${accent} on ${grounds[mode]}`)
        assert.ok(contrast(onAccent, accent) >= 4.5, `${onAccent} on ${accent}`)
      }
    }),
  )
})

test('a legible colour is used unchanged', () => {
  assert.equal(palettes(themed('#1f5fbf')).light.accent, '#1f5fbf')
  assert.equal(palettes(themed('#ffcc00')).dark.accent, '#ffcc00')
  assert.notEqual(palettes(themed('#ffcc00')).light.accent, '#ffcc00')
})

test('the stylesheet has both colour schemes, and its greys and reds are legible in both', () => {
  const css = stylesheet(themed('#1f5fbf'))
  const [light = '', dark = ''] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, body]) => body ?? '')
  for (const scheme of [light, dark]) {
    const value = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(scheme)?.[1] ?? ''
    for (const name of ['text', 'faint', 'fault']) {
      assert.ok(contrast(value(name), value('ground')) >= 4.5, `${name} in ${scheme}`)
    }
    // WCAG 2.2, 1.4.11: the boundary of a field.
    assert.ok(contrast(value('edge'), value('ground')) >= 3)
  }
  assert.match(css, /prefers-reduced-motion/)
  assert.match(css, /:focus-visible/)
  assert.doesNotMatch(css, /url\(|@import|undefined/)
})
