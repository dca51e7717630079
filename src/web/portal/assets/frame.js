/** The search of the reference, the guides and the errors, entirely in the browser, and who is signed in. */
const maxResults = 30
const snippetLength = 140

const button = document.querySelector('[data-search]')
const dialog = document.querySelector('#search')
const input = dialog.querySelector('input')
const list = dialog.querySelector('ul')
const status = dialog.querySelector('[role=status]')

/** Lower case, without accents. */
const plain = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** The address of `/docs/`, also where a proxy serves the service below a path. */
const docs = new URL('..', document.currentScript.src)

let loading
function entries() {
  loading ??= fetch(new URL('search.json', docs))
    .then(response => (response.ok ? response.json() : Promise.reject(new Error(String(response.status)))))
    .then(all =>
      all.map(entry => ({
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
  const index = text.indexOf(term)
  return index === 0 || (index > 0 && !/[\p{L}\p{N}]/u.test(text[index - 1]))
}

function weight({ plainTitle, plainText }, term) {
  if (plainTitle === term) return 12
  if (startsWord(plainTitle, term)) return 8
  if (plainTitle.includes(term)) return 5
  if (startsWord(plainText, term)) return 2
  return plainText.includes(term) ? 1 : 0
}

function ranked(all, terms) {
  const results = []
  for (const entry of all) {
    const weights = terms.map(term => weight(entry, term))
    if (weights.every(value => value > 0)) results.push({ entry, sum: weights.reduce((a, b) => a + b) })
  }
  return results.sort((a, b) => b.sum - a.sum).slice(0, maxResults)
}

/** The text around the first term. */
function snippet({ text }, terms) {
  const indexes = terms.map(term => plain(text).indexOf(term)).filter(index => index >= 0)
  const start = indexes.length > 0 ? Math.max(0, Math.min(...indexes) - 40) : 0
  const cut = text.slice(start, start + snippetLength)
  return `${start > 0 ? '…' : ''}${cut}${start + snippetLength < text.length ? '…' : ''}`
}

function element(name, text, attributes = {}) {
  const created = document.createElement(name)
  created.textContent = text
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value)
  return created
}

function optionOf({ entry }, index, terms) {
  const item = element('li', '', { role: 'option', id: `found-${index}`, 'aria-selected': 'false' })
  item.dataset.href = new URL(`..${entry.href}`, docs)
  item.append(element('small', entry.place), element('strong', entry.title))
  const text = snippet(entry, terms)
  if (text !== '') item.append(element('span', text))
  return item
}

function select(option) {
  for (const item of list.children) item.setAttribute('aria-selected', String(item === option))
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
  const query = input.value
  const terms = plain(query)
    .split(/[\s/]+/)
    .filter(term => term !== '')
    .slice(0, 8)
  if (terms.length === 0) {
    list.replaceChildren()
    status.textContent = status.dataset.hint
    return select(undefined)
  }
  try {
    const results = ranked(await entries(), terms)
    if (input.value !== query) return
    list.replaceChildren(...results.map((result, index) => optionOf(result, index, terms)))
    status.textContent =
      results.length === 0 ? status.dataset.none : status.dataset.some.replace('{count}', results.length)
    select(list.firstElementChild)
  } catch {
    status.textContent = status.dataset.fault
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
    const options = [...list.children]
    select(options.at((options.indexOf(selected()) + step) % options.length))
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

/** Fills in the name on pages that are the same for every user, and lets the user sign out there. */
async function showSession(session) {
  const account = new URL('../account', docs)
  // Without a referrer, the service could not tell a browser without Fetch Metadata from another site.
  const options = { referrerPolicy: 'same-origin' }
  const response = await fetch(account, { ...options, headers: { Accept: 'application/json' } })
  if (!response.ok) return
  const { user } = await response.json()
  const link = session.querySelector('a')
  link.title = user.email
  link.querySelector('bdi').textContent = user.name
  link.querySelector('.tile').textContent = [...user.name].find(sign => /[\p{L}\p{N}]/u.test(sign)) ?? '?'
  const form = session.querySelector('form')
  form.hidden = false
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const headers = { 'Content-Type': 'application/json' }
    const request = { ...options, method: 'POST', headers, body: '{}' }
    const signedOut = await fetch(`${account}/sign-out`, request).catch(() => undefined)
    if (signedOut?.ok) location.reload()
    // The account page has a form to sign out.
    else location.assign(account)
  })
  // A page that the browser kept would still show the name after a sign-out.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload()
  })
}

const session = document.querySelector('[data-session]')
if (session) showSession(session)
