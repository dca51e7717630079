/** A browser without JavaScript: cookies, redirects, links and forms. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export interface Field {
  readonly name: string
  readonly type: string
  readonly value: string
  readonly checked: boolean
}

export interface Form {
  readonly action: URL
  readonly method: 'GET' | 'POST'
  readonly fields: readonly Field[]
  readonly buttons: readonly Button[]
}

interface Button {
  readonly name: string | undefined
  readonly value: string
  readonly label: string
}

export interface Page {
  readonly url: URL
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly forms: readonly Form[]
}

/** The URL to which a redirect left the service. */
export interface Departure {
  readonly location: URL
}

interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const maxRedirects = 12
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function decodeEntities(html: string): string {
  return html.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (entity, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16))
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
    return entities[name] ?? entity
  })
}

function attributes(tag: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [, name = '', quoted, single, bare] of tag.matchAll(
    /\s([\w-]+)(?:=(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g,
  )) {
    values.set(name.toLowerCase(), decodeEntities(quoted ?? single ?? bare ?? ''))
  }
  return values
}

function fieldsOf(html: string): Field[] {
  const inputs = [...html.matchAll(/<input\b[^>]*>/gi)].map(([tag]) => attributes(tag))
  const others = [...html.matchAll(/<(select|textarea)\b([^>]*)>([\s\S]*?)<\/\1>/gi)].map(
    ([, type = '', tag = '', inner = '']) => {
      const selected = /<option value="([^"]*)" selected/.exec(inner)?.[1] ?? ''
      const value = decodeEntities(type === 'textarea' ? inner.replace(/^\n/, '') : selected)
      return { name: attributes(` ${tag}`).get('name') ?? '', type, value, checked: false }
    },
  )
  const fields = inputs.flatMap(input => {
    const name = input.get('name')
    if (name === undefined || input.has('disabled')) return []
    const type = input.get('type') ?? 'text'
    const value = input.get('value') ?? (type === 'checkbox' ? 'on' : '')
    return [{ name, type, value, checked: input.has('checked') }]
  })
  return [...fields, ...others]
}

function buttonsOf(html: string): Button[] {
  return [...html.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/gi)].flatMap(([, tag = '', label = '']) => {
    const button = attributes(` ${tag}`)
    if (button.get('type') === 'button') return []
    return [
      {
        name: button.get('name'),
        value: button.get('value') ?? '',
        label: decodeEntities(label.replace(/<[^>]*>/g, ' '))
          .replace(/\s+/g, ' ')
          .trim(),
      },
    ]
  })
}

/** The forms of a page, as a browser would submit them. */
export function formsOf(html: string, page: URL): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)].map(([, tag = '', inner = '']) => {
    const form = attributes(` ${tag}`)
    return {
      action: new URL(form.get('action') ?? page.href, page),
      method: form.get('method')?.toUpperCase() === 'POST' ? 'POST' : 'GET',
      fields: fieldsOf(inner),
      buttons: buttonsOf(inner),
    }
  })
}

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

/** The cookies of one origin: RFC 6265, 5.3 and 5.4, without domains. */
class CookieJar {
  readonly #cookies = new Map<string, Cookie>()

  store(lines: readonly string[], from: URL): void {
    for (const line of lines) {
      const [pair = '', ...rest] = line.split(';')
      const mark = pair.indexOf('=')
      const attributes = new Map(
        rest.map(part => {
          const [name = '', value = ''] = part.trim().split('=')
          return [name.toLowerCase(), value]
        }),
      )
      const path = attributes.get('path') ?? from.pathname.replace(/\/[^/]*$/, '/')
      const name = pair.slice(0, mark).trim()
      const expires = attributes.get('expires')
      const isExpired =
        attributes.get('max-age') === '0' ||
        (expires !== undefined && new Date(expires).getTime() <= Date.now())
      if (isExpired) this.#cookies.delete(`${name};${path}`)
      else this.#cookies.set(`${name};${path}`, { name, path, value: pair.slice(mark + 1).trim() })
    }
  }

  for(url: URL): string {
    const matching = [...this.#cookies.values()].filter(
      ({ path }) => url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
    )
    matching.sort((a, b) => b.path.length - a.path.length)
    return matching.map(({ name, value }) => `${name}=${value}`).join('; ')
  }
}

export class Browser {
  readonly origin: string
  readonly #jar = new CookieJar()
  readonly #agent = new Agent({ keepAlive: true })

  constructor(origin: string) {
    this.origin = new URL(origin).origin
  }

  /** Sends one request with the cookies that belong to it; redirects are not followed. */
  async send(url: URL, { method = 'GET', headers = {}, body }: RequestOptions = {}): Promise<Answer> {
    const cookie = this.#jar.for(url)
    const allHeaders = {
      Accept: 'text/html,application/xhtml+xml',
      'Sec-Fetch-Mode': 'navigate',
      'Sec-Fetch-Dest': 'document',
      ...(cookie !== '' && { Cookie: cookie }),
      ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
      ...headers,
    }
    const answer = await new Promise<Answer & { readonly cookies: readonly string[] }>((resolve, reject) => {
      const sent = httpRequest(url, { method, headers: allHeaders, agent: this.#agent }, message => {
        let text = ''
        message.setEncoding('utf8')
        message.on('data', chunk => {
          text += chunk
        })
        message.on('end', () =>
          resolve({
            status: message.statusCode ?? 0,
            headers: message.headers,
            text,
            cookies: message.headers['set-cookie'] ?? [],
          }),
        )
        message.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
    this.#jar.store(answer.cookies, url)
    return answer
  }

  /** Opens a URL and follows redirects within the service. */
  open(url: URL | string): Promise<Page | Departure> {
    return this.#follow(new URL(url, this.origin), { headers: { 'Sec-Fetch-Site': 'cross-site' } })
  }

  /** Submits a form with `values` filled in; an array or a boolean ticks checkboxes. */
  submit(
    form: Form,
    values: Readonly<Record<string, string | boolean | readonly string[]>> = {},
    button: Button | undefined = form.buttons[0],
  ): Promise<Page | Departure> {
    const pairs = new URLSearchParams()
    for (const { name, type, value, checked } of form.fields) {
      const override = values[name]
      if (type === 'checkbox' || type === 'radio') {
        const isChecked =
          override === undefined
            ? checked
            : typeof override === 'string'
              ? override === value
              : override === true || (Array.isArray(override) && override.includes(value))
        if (isChecked) pairs.append(name, value)
      } else pairs.append(name, typeof override === 'string' ? override : value)
    }
    if (button?.name !== undefined) pairs.append(button.name, button.value)
    if (form.method === 'GET') {
      const url = new URL(form.action)
      url.search = pairs.toString()
      return this.open(url)
    }
    return this.#follow(form.action, {
      method: 'POST',
      body: pairs.toString(),
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: this.origin,
        'Sec-Fetch-Site': 'same-origin',
      },
    })
  }

  async #follow(from: URL, firstRequest: RequestOptions): Promise<Page | Departure> {
    let url = from
    let sent = firstRequest
    for (let count = 0; count < maxRedirects; count++) {
      if (url.origin !== this.origin) return { location: url }
      const answer = await this.send(url, sent)
      const { location } = answer.headers
      if (answer.status < 300 || answer.status >= 400 || location === undefined) {
        return { url, ...answer, forms: formsOf(answer.text, url) }
      }
      url = new URL(location, url)
      sent = { headers: { 'Sec-Fetch-Site': 'same-origin' } }
    }
    throw new Error(`${from.href} is redirected without end`)
  }

  close(): void {
    this.#agent.destroy()
  }
}
