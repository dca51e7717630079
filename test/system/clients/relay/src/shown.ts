/** A component that only calls hooks. */
import { createElement, Suspense } from 'react'
import { RelayEnvironmentProvider } from 'react-relay'
import { act, create, type ReactTestRenderer } from 'react-test-renderer'
import { environment } from './environment'

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

export interface Shown<T> {
  /** The values of the hooks at the last render. */
  readonly now: T
  /** Performs an action that renders again, and waits until the hooks return the expected values. */
  until(condition: (now: T) => boolean, first?: () => void): Promise<void>
}

const roots: ReactTestRenderer[] = []

export async function show<T>(use: () => T): Promise<Shown<T>> {
  let last: { readonly value: T } | undefined
  const Component = () => {
    last = { value: use() }
    return null
  }
  const now = () => {
    if (last) return last.value
    throw new Error('nothing was rendered')
  }
  const shown: Shown<T> = {
    get now() {
      return now()
    },
    async until(condition, first) {
      await act(async () => first?.())
      for (let tries = 0; tries < 500; tries++) {
        if (last && condition(last.value)) return
        await act(() => new Promise(next => setTimeout(next, 10)))
      }
      throw new Error(`not fulfilled after 5 s: ${condition}`)
    },
  }
  const children = createElement(Suspense, { fallback: null }, createElement(Component))
  await act(async () => {
    roots.push(create(createElement(RelayEnvironmentProvider, { environment, children })))
  })
  await shown.until(() => true)
  return shown
}

export async function closeAll(): Promise<void> {
  for (const root of roots.splice(0)) await act(async () => root.unmount())
}
