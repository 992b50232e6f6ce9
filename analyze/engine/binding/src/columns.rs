//! A table for Python: the Arrow PyCapsule interface for data tools, plain values for the command's own few rows.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::UInt16Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray, StructArray, UInt16Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use pyo3_arrow::ffi::{ArrayIterator, to_array_pycapsules, to_schema_pycapsule, to_stream_pycapsule};
use vmtrace_core::output::columns::{Column, ColumnValues};

/// Columns of one length, immutable. Any Arrow consumer takes it as it is.
#[pyclass(frozen, module = "vmtrace.analyze._engine")]
pub struct Columns {
    batch: RecordBatch,
}

/// Columns named when a table is shown at a prompt.
const NAMES_SHOWN: usize = 6;

impl Columns {
    /// Turns the engine's columns into one Arrow record batch. Each is given up before the next one is asked for.
    ///
    /// # Errors
    /// `RuntimeError` if the columns do not fit together (a defect of the engine).
    pub fn new(columns: impl IntoIterator<Item = Column>) -> PyResult<Self> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in columns {
            let array = to_arrow(column.values).map_err(defect)?;
            fields.push(Field::new(column.name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let rows = arrays.first().map_or(0, |array| array.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).map_err(defect)?;
        Ok(Self { batch })
    }

    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn as_struct(&self) -> (Arc<Field>, ArrayRef) {
        let array = StructArray::from(self.batch.clone());
        (Arc::new(Field::new("", array.data_type().clone(), false)), Arc::new(array))
    }
}

#[pymethods]
impl Columns {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let names = self.names();
        let first = names.iter().take(NAMES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if names.len() > NAMES_SHOWN { ", ..." } else { "" };
        format!("<table: {} rows, {} columns: {first}{more}>", self.batch.num_rows(), names.len())
    }

    /// The columns' names in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The names of the columns that hold texts.
    #[getter]
    fn texts(&self) -> Vec<String> {
        let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::Dictionary(..));
        let schema = self.batch.schema();
        let texts = schema.fields().iter().filter(|field| is_text(field.data_type()));
        texts.map(|field| field.name().clone()).collect()
    }

    /// All values of a column as a list; `None` where there is no value.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.column(name)?;
        let values = (0..array.len()).map(|row| value(py, array, row)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, values)
    }

    /// One row as a dictionary.
    fn row<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        if index >= self.batch.num_rows() {
            return Err(PyIndexError::new_err(format!("row {index} of {}", self.batch.num_rows())));
        }
        let row = PyDict::new(py);
        for (field, array) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            row.set_item(field.name(), value(py, array, index)?)?;
        }
        Ok(row)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.batch.schema().as_ref())?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (field, array) = self.as_struct();
        Ok(to_array_pycapsules(py, field, &array, requested_schema)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (field, array) = self.as_struct();
        let reader = Box::new(ArrayIterator::new(std::iter::once(Ok(array)), field));
        Ok(to_stream_pycapsule(py, reader, requested_schema)?)
    }
}

fn to_arrow(values: ColumnValues) -> Result<ArrayRef, ArrowError> {
    Ok(match values {
        ColumnValues::U64(values) => Arc::new(UInt64Array::from(values)),
        ColumnValues::I64(values) => Arc::new(Int64Array::from(values)),
        ColumnValues::F64(values) => Arc::new(Float64Array::from(values)),
        ColumnValues::Bool(values) => Arc::new(BooleanArray::from(values)),
        ColumnValues::Text(values) => Arc::new(texts(values)),
        ColumnValues::Category { codes, names } => Arc::new(dictionary(&codes, names)?),
    })
}

/// A dictionary of the names that occur, in order of their first occurrence.
fn dictionary(codes: &[Option<u8>], names: &[&str]) -> Result<DictionaryArray<UInt16Type>, ArrowError> {
    let mut places = [None; 1 << u8::BITS];
    let mut values = Vec::new();
    let mut place = |code: u8| {
        *places[usize::from(code)].get_or_insert_with(|| {
            values.push(names.get(usize::from(code)).copied());
            values.len() as u16 - 1
        })
    };
    let keys: UInt16Array = codes.iter().map(|code| code.map(&mut place)).collect();
    DictionaryArray::try_new(keys, Arc::new(StringArray::from(values)))
}

fn texts(values: Vec<Option<String>>) -> StringArray {
    let mut builder = StringBuilder::with_capacity(values.len(), values.iter().flatten().map(String::len).sum());
    builder.extend(values);
    builder.finish()
}

fn value<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    let any = array.as_any();
    if array.is_null(row) {
        py.None().into_bound_py_any(py)
    } else if let Some(array) = any.downcast_ref::<UInt64Array>() {
        array.value(row).into_bound_py_any(py)
    } else if let Some(array) = any.downcast_ref::<Int64Array>() {
        array.value(row).into_bound_py_any(py)
    } else if let Some(array) = any.downcast_ref::<Float64Array>() {
        array.value(row).into_bound_py_any(py)
    } else if let Some(array) = any.downcast_ref::<BooleanArray>() {
        array.value(row).into_bound_py_any(py)
    } else if let Some(array) = any.downcast_ref::<StringArray>() {
        array.value(row).into_bound_py_any(py)
    } else if let Some(array) = any.downcast_ref::<DictionaryArray<UInt16Type>>() {
        let code = usize::from(array.keys().value(row));
        value(py, array.values(), code)
    } else {
        let kind: &DataType = array.data_type();
        Err(PyRuntimeError::new_err(format!("no Python value for a column of {kind}")))
    }
}

fn defect(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(format!("the engine's columns do not fit together: {error}"))
}
