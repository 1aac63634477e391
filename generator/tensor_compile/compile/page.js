/* SPDX-License-Identifier: Apache-2.0
 *
 * Paper shows every kernel; a link to a kernel opens it and puts the keyboard there.
 */
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => {
    d.dataset.was = d.open;
    d.open = true;
}));
addEventListener('afterprint', () => document.querySelectorAll('details').forEach(d => {
    d.open = d.dataset.was === 'true';
}));
const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === 'DETAILS') {
        target.open = true;
        target.firstElementChild.focus();
    }
};
addEventListener('hashchange', follow);
follow();
