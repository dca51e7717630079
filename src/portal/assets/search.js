/** Searches the reference, the guides and the errors, entirely in the browser. */
const maxResults = 30
const snippetLength = 140

const button = document.querySelector('[data-search]')
const dialog = document.querySelector('#search')
const input = dialog.querySelector('input')
const list = dialog.querySelector('ul')
const status = dialog.querySelector('[role=status]')

/** Lower case, without accents. */
const plain = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

let loading
function entries() {
  loading ??= fetch('/docs/search.json')
    .then(response => (response.ok ? response.json() : Promise.reject(new Error(String(response.status)))))
    .then(found =>
      found.map(entry => ({
        ...entry,
        plainTitle: plain(entry.title),
        plainText: plain(`${entry.place} ${entry.text}`),
      })),
    )
    .catch(error => {
      loading = undefined
      throw error
    })
  return loading
}

function startsWord(text, term) {
  const at = text.indexOf(term)
  return at === 0 || (at > 0 && !/[\p{L}\p{N}]/u.test(text[at - 1]))
}

function weight({ plainTitle, plainText }, term) {
  if (plainTitle === term) return 12
  if (startsWord(plainTitle, term)) return 8
  if (plainTitle.includes(term)) return 5
  if (startsWord(plainText, term)) return 2
  return plainText.includes(term) ? 1 : 0
}

function ranked(all, terms) {
  const found = []
  for (const entry of all) {
    const weights = terms.map(term => weight(entry, term))
    if (weights.every(each => each > 0)) found.push({ entry, sum: weights.reduce((a, b) => a + b) })
  }
  return found.sort((a, b) => b.sum - a.sum).slice(0, maxResults)
}

/** The text around the first term. */
function snippet({ text }, terms) {
  const at = Math.max(0, Math.min(...terms.map(term => plain(text).indexOf(term)).filter(each => each >= 0)))
  const start = Number.isFinite(at) ? Math.max(0, at - 40) : 0
  const cut = text.slice(start, start + snippetLength)
  return `${start > 0 ? '…' : ''}${cut}${start + snippetLength < text.length ? '…' : ''}`
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name)
  made.textContent = text
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return made
}

function optionOf({ entry }, at, terms) {
  const item = element('li', '', { role: 'option', id: `found-${at}`, 'aria-selected': 'false' })
  item.dataset.href = entry.href
  item.append(element('small', entry.place), element('strong', entry.title))
  const shown = snippet(entry, terms)
  if (shown !== '') item.append(element('span', shown))
  return item
}

function select(option) {
  for (const each of list.children) each.setAttribute('aria-selected', String(each === option))
  if (option) {
    input.setAttribute('aria-activedescendant', option.id)
    option.scrollIntoView({ block: 'nearest' })
  } else input.removeAttribute('aria-activedescendant')
}

function follow(option) {
  if (!option) return
  dialog.close()
  location.assign(option.dataset.href)
}

const selected = () => list.querySelector('[aria-selected=true]')

async function update() {
  const asked = input.value
  const terms = plain(asked)
    .split(/[\s/]+/)
    .filter(term => term !== '')
    .slice(0, 8)
  if (terms.length === 0) {
    list.replaceChildren()
    status.textContent = 'Operations, guides and errors.'
    return select(undefined)
  }
  try {
    const found = ranked(await entries(), terms)
    if (input.value !== asked) return
    list.replaceChildren(...found.map((each, at) => optionOf(each, at, terms)))
    status.textContent = found.length === 0 ? 'Nothing found.' : `${found.length} found.`
    select(list.firstElementChild)
  } catch {
    status.textContent = 'The search could not be loaded. Try again.'
  }
}

function open() {
  if (dialog.open) return
  dialog.showModal()
  input.select()
  update()
}

function isTyping({ target }) {
  return (
    target instanceof Element && target.closest('input, textarea, select, [contenteditable=true]') !== null
  )
}

button.hidden = false
button.addEventListener('click', open)
addEventListener('keydown', event => {
  const isHotkey = event.key === 'k' && (event.ctrlKey || event.metaKey)
  if (!isHotkey && (event.key !== '/' || isTyping(event))) return
  event.preventDefault()
  open()
})
input.addEventListener('input', update)
input.addEventListener('keydown', event => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step !== undefined) {
    event.preventDefault()
    const all = [...list.children]
    select(all.at((all.indexOf(selected()) + step) % all.length))
  }
  if (event.key === 'Enter') {
    event.preventDefault()
    follow(selected())
  }
})
list.addEventListener('click', ({ target }) => follow(target.closest('[data-href]')))
dialog.addEventListener('click', event => {
  if (event.target === dialog) dialog.close()
})
